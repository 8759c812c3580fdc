"""The reward of one response, and the interface of presets.

Reward and evaluation share one grader, so they cannot disagree about correctness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Faithfulness of the reasoning to its story.

    Attributes:
        made: Distinct belief claims.
        true: Those of them that hold in the story.
        decisive: Chains whose beliefs lead to the answer.
        covered: Those of them with a true claim.
    """

    made: int
    true: int
    decisive: int
    covered: int

    @property
    def score(self) -> float:
        """From 0 to 1."""
        if not self.made or not self.decisive:
            return 0.0
        return self.true / self.made * (self.covered / self.decisive)


@dataclass(frozen=True, slots=True)
class Earned:
    """Earnings of the parts of a response; ``fidelity`` where claims were checked."""

    form: float
    answer: float
    reasoning: float = 0.0
    fidelity: Fidelity | None = None


class Preset(ABC):
    """From the grader's verdict on a response to its earnings; settings are fields.

    Attributes:
        lenient: Pays a benchmark's published rule, which can be gamed, instead of the strict match.
            A study must say why it trains with such a preset.
        reads: Fields of an example that it reads itself, beside those that grading reads.
    """

    lenient: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()

    def is_right(self, grade: Grade) -> bool:
        return grade.published if self.lenient else grade.strict

    @abstractmethod
    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        """The earnings of a response (the text after the pre-filled ``<think>``)."""

    def drawing(self, draw: str) -> Preset:
        """The preset for one response of a run; random rewards differ by ``draw``, its name."""
        return self

    @property
    def least(self) -> Earned:
        """Earnings of an empty response, and of one on which grading fails."""
        return Earned(0.0, 0.0)

    def applies_to(self, example: Example) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of one response.

    Attributes:
        right: The answer is right by the rule that the preset pays.
        error: The grader's exception or timeout, if any.
    """

    earned: Earned
    grade: Grade
    right: bool = False
    error: str | None = None

    @property
    def score(self) -> float:
        return self.earned.form + self.earned.answer + self.earned.reasoning

    def figures(self) -> dict[str, float]:
        """The reward as numbers, with the same keys for every response.

        ``acc``: right by the rule that the preset pays; ``format``: well-formed; ``checked``: the
        reasoning was, with its ``fidelity``, ``claims`` and ``claims_true``; ``error``: grading
        failed.
        """
        earned, checked = self.earned, self.earned.fidelity
        return {
            "score": self.score,
            "acc": float(self.right),
            "format": float(self.grade.format_ok),
            "format_reward": earned.form,
            "answer_reward": earned.answer,
            "fidelity_reward": earned.reasoning,
            "checked": float(checked is not None),
            "fidelity": checked.score if checked else 0.0,
            "claims": float(checked.made) if checked else 0.0,
            "claims_true": float(checked.true) if checked else 0.0,
            "error": float(self.error is not None),
        }
