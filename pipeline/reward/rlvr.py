"""The reward of Study 2 (arXiv 2507.15788)."""

from __future__ import annotations

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


class Rlvr(Preset):
    """0.1 for the format, plus 1.0 for a well-formed, strictly right answer."""

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        return Earned(0.1 * grade.format_ok, 1.0 * (grade.format_ok and self.is_right(grade)))
