"""The result of every generator: a story's text, its questions with gold answers, its events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pipeline.tom.question import Question
from pipeline.tom.story import Story
from pipeline.tom.structure import structure_id


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """One question about a generated story.

    Attributes:
        answer: The gold answer, which the engine derives from the events.
        order: Belief order; 0 for the world, -1 for ExploreToM's factual questions, None where the
            notion does not apply.
        question_type: The benchmark's name for the kind of question.
        choices: The admissible answers, where the benchmark gives them.
        interesting: People asked about would answer differently (ExploreToM).
        asked: The question in the engine's terms, if it has any.
    """

    text: str
    answer: str
    order: int | None
    question_type: str
    choices: tuple[str, ...] | None = None
    interesting: bool = False
    asked: Question | None = None


@dataclass(frozen=True)
class GeneratedItem:
    """A story with its questions; ``events`` in the order in which they happened.

    Attributes:
        style: The surface style of the text.
        story_type: The benchmark's name for the kind of story.
    """

    story: str
    questions: tuple[GeneratedQuestion, ...]
    events: Story
    style: str
    story_type: str = ""

    @cached_property
    def structure(self) -> str:
        """The digest of its structure."""
        return structure_id(self.events)


@dataclass(frozen=True, slots=True)
class CounterfactualPair:
    """One story told twice: with a witness who notices the decisive event, and one who does not.

    Question i of both has the same words; at least one has another answer.

    Attributes:
        observed: The witness notices.
        hidden: The witness does not.
        witness: Whose belief is concerned.
        intervention: The difference, see :data:`pipeline.tom.generate.pair.INTERVENTIONS`.
    """

    observed: GeneratedItem
    hidden: GeneratedItem
    witness: str
    intervention: str

    @property
    def differing(self) -> tuple[int, ...]:
        both = zip(self.observed.questions, self.hidden.questions, strict=True)
        return tuple(i for i, (seen, unseen) in enumerate(both) if seen.answer != unseen.answer)
