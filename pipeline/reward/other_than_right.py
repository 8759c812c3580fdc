"""Controls: rewards that pay for something else than a right answer (arXiv 2506.10947)."""

from __future__ import annotations

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


class WrongReward(Preset):
    """1.0 for a well-formed answer that is wrong."""

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        answered = grade.format_ok and grade.extracted is not None and not grade.too_late
        return Earned(0.0, float(answered and not grade.strict))


class FormReward(Preset):
    """1.0 for a well-formed response, whatever it answers."""

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        return Earned(float(grade.format_ok), 0.0)
