"""A reward: what one response earned, and what a preset is.

Reward and evaluation cannot disagree about what is correct: both ask the one grader.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How faithful a piece of reasoning is to its story.

    Attributes:
        made: Distinct belief claims.
        true: Those of them that hold in the story.
        decisive: Chains whose beliefs lead to the answer.
        covered: Those of them about which something true is claimed.
    """

    made: int
    true: int
    decisive: int
    covered: int

    @property
    def score(self) -> float:
        """The score, from 0 to 1."""
        if not self.made or not self.decisive:
            return 0.0
        return self.true / self.made * (self.covered / self.decisive)


@dataclass(frozen=True, slots=True)
class Earned:
    """What the parts of a response earned.

    Attributes:
        form: What the format earned.
        answer: What the answer earned.
        reasoning: What the reasoning earned.
        fidelity: The belief claims found in it, where the preset checks them and the engine can
            read the story.
    """

    form: float
    answer: float
    reasoning: float = 0.0
    fidelity: Fidelity | None = None


class Preset(ABC):
    """From the grader's verdict on a response to what it earns; its settings are its fields.

    Attributes:
        lenient: Whether it pays a benchmark's published rule, which may be talked into paying,
            instead of the strict match. A study must say why it trains with such a preset.
        reads: Fields of an example that it reads itself, beside those that grading reads.
    """

    lenient: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()

    def is_right(self, grade: Grade) -> bool:
        """Whether an answer is right by the rule that the preset pays."""
        return grade.published if self.lenient else grade.strict

    @abstractmethod
    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        """What a response earns.

        Args:
            grade: The grader's verdict on it.
            example: The question with its answer.
            response: The text after the pre-filled ``<think>``.
        """

    def drawing(self, draw: str) -> Preset:
        """The preset for one response of a run; another one where the reward is drawn.

        Args:
            draw: Names the response: other responses have other names, also if they say the same.
        """
        return self

    @property
    def least(self) -> Earned:
        """What an empty response earns, and one on which grading fails."""
        return Earned(0.0, 0.0)

    def applies_to(self, example: Example) -> bool:
        """Whether everything that the preset pays for can be judged on an example."""
        return True


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of one response: ``score`` is the sum of its parts.

    Attributes:
        score: The number that training sees.
        format_part: What the format earned.
        answer_part: What the answer earned.
        grade: The grader's verdict.
        fidelity_part: What the reasoning earned.
        fidelity: The belief claims found in it, if they were checked.
        error: What the grader raised on this response, or that it took too long, if so.
        right: Whether the answer is right by the rule that the preset pays.
    """

    score: float
    format_part: float
    answer_part: float
    grade: Grade
    fidelity_part: float = 0.0
    fidelity: Fidelity | None = None
    error: str | None = None
    right: bool = False

    @classmethod
    def of(cls, earned: Earned, grade: Grade, right: bool, error: str | None = None) -> Reward:
        """The sum of what the parts earned."""
        return cls(
            score=earned.form + earned.answer + earned.reasoning,
            format_part=earned.form,
            answer_part=earned.answer,
            grade=grade,
            fidelity_part=earned.reasoning,
            fidelity=earned.fidelity,
            error=error,
            right=right,
        )

    def figures(self) -> dict[str, float]:
        """The reward as numbers, by the same names for every response.

        ``acc`` says whether the answer is right by the rule that the preset pays, ``format``
        whether the form is; ``checked`` whether
        the reasoning was, with its ``fidelity``, ``claims`` and ``claims_true``; ``error`` whether
        grading failed.
        """
        checked = self.fidelity
        return {
            "score": self.score,
            "acc": float(self.right),
            "format": float(self.grade.format_ok),
            "format_reward": self.format_part,
            "answer_reward": self.answer_part,
            "fidelity_reward": self.fidelity_part,
            "checked": float(checked is not None),
            "fidelity": checked.score if checked else 0.0,
            "claims": float(checked.made) if checked else 0.0,
            "claims_true": float(checked.true) if checked else 0.0,
            "error": float(self.error is not None),
        }
