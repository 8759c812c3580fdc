"""Models made up so that it is known whether they use their reasoning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.formats.provenance import Libraries
from pipeline.model.chat import PREFILL
from pipeline.tasks.example import Example
from pipeline.tom.language import HI_TOM
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import Line, Seen, implied, read_lines, written
from pipeline.tom.retelling import Retold, retell

Decide = Callable[[Sequence[Line], Retold], str | None]


def by_trace(lines: Sequence[Line], story: Retold) -> str | None:
    """What the reasoning implies, whatever the story says."""
    return implied(lines, story.chain)


def by_story(lines: Sequence[Line], story: Retold) -> str | None:
    """What the story implies, whatever the reasoning says."""
    return implied(story.lines, story.chain)


def by_first_place(lines: Sequence[Line], story: Retold) -> str | None:
    """A rule: where the object was at the beginning."""
    return story.places[0]


def by_last_sight(lines: Sequence[Line], story: Retold) -> str | None:
    """A rule: where the object really is."""
    return implied(story.lines, ())


def by_last_line(lines: Sequence[Line], story: Retold) -> str | None:
    """Of the reasoning, the place named last, whoever learned of it."""
    return lines[-1].place if lines else None


@dataclass
class Simulated:
    """An engine that recounts the story, says where the object is thought to be, and answers that.

    Where an answer has begun, it goes on from there; a last sentence that stands there already is
    copied.

    Attributes:
        examples: What it may be asked.
        decide: How it comes to the last sentence.
        noise: Share of last sentences that name any place instead.
        slips: Share of lines of its recount that are wrong.
        seed: Of what it draws.
        walks: Whether it says after each line what is believed by then.
    """

    examples: Iterable[Example]
    decide: Decide
    noise: float = 0.0
    slips: float = 0.0
    seed: int = 0
    walks: bool = False
    name: str = "simulated"
    libraries: Libraries = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {example.id: example for example in self.examples}

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """One response for each prompt, in order."""
        report(len(prompts))
        return [Response(self._go_on(prompt), 30, "stop") for prompt in prompts]

    def _go_on(self, prompt: Prompt) -> str:
        begun = prompt.begun.removeprefix(PREFILL)
        random = Random(f"{self.seed} {prompt.question} {begun}")
        example = self.known[prompt.question]
        story = retell(example.benchmark, example.story, example.question)
        if story is None:  # a side-check is about no story
            return "</think><answer> 0</answer>"
        thing = HI_TOM.question(example.question)
        assert isinstance(thing, WhereQuestion)
        said = f"the {thing.object} is in the"
        if said in begun:
            place = begun.rstrip(".").split()[-1]
            return f"</think><answer> {place}</answer>"
        lines = [each.line for each in read_lines(begun)]
        walk = story.chain if self.walks else None
        told = "" if lines else f" {written(self._recount(story, random), walk)}"
        decided = self.decide(lines or [each.line for each in read_lines(told)], story)
        place = random.choice(story.places) if random.random() < self.noise else str(decided)
        who = "".join(f"{agent} thinks " for agent in story.chain)
        return f"{told} {who}{said} {place}.</think><answer> {place}</answer>"

    def _recount(self, story: Retold, random: Random) -> list[Line]:
        return [
            Seen(random.choice(story.places), tuple(random.sample(story.people, 2)))
            if random.random() < self.slips
            else line
            for line in story.lines
        ]
