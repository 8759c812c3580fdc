"""The reward of Study 1 (arXiv 2504.01698), as its code has it and as its text has it."""

from __future__ import annotations

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

_LEAST = Earned(-1.0, -2.0)


class AsCoded(Preset):
    """Format +1/-1, answer +2/-2; a format failure also fails the answer."""

    least = _LEAST

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        """Return what a response earns."""
        if not grade.format_ok:
            return _LEAST
        return Earned(1.0, 2.0 if grade.correct else -2.0)


class AsWritten(Preset):
    """Format +1/-1 plus answer +2/-2, graded separately."""

    least = _LEAST

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        """Return what a response earns."""
        return Earned(1.0 if grade.format_ok else -1.0, 2.0 if grade.correct else -2.0)
