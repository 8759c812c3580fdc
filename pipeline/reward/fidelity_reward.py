"""Study 2's reward, with the answer's part divided between answer and reasoning."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.reward.fidelity import fidelity, has_own_words, is_readable
from pipeline.reward.reward import Earned, Preset
from pipeline.reward.rlvr import Rlvr
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

_ANSWER = Rlvr()


@dataclass(frozen=True)
class FidelityReward(Preset):
    """Pays for true and decisive belief claims, which the belief engine checks.

    Attributes:
        weight: Share of the answer's reward that goes to the reasoning. Where the engine cannot
            read the story, the answer earns all, unless the reasoning is empty or only repeats
            story and question.
    """

    reads = ("story", "question")
    weight: float = 0.5

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        plain = _ANSWER(grade, example, response)
        checked = fidelity(response, example)
        answer, reasoning = plain.answer, 0.0
        if checked is not None or not has_own_words(response, example):
            answer *= 1 - self.weight
        if checked is not None:
            reasoning = self.weight * checked.score * grade.format_ok
        return Earned(plain.form, answer, reasoning, checked)

    def applies_to(self, example: Example) -> bool:
        return is_readable(example)
