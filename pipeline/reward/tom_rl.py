"""The reward of Study 1 (arXiv 2504.01698), by its code and by its text."""

from __future__ import annotations

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade, repeats_a_tag

_LEAST = Earned(-1.0, -2.0)


class AsCodedStrict(Preset):
    """Format +1/-1, answer +2/-2; a format failure also fails the answer."""

    least = _LEAST

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        if not grade.format_ok:
            return _LEAST
        return Earned(1.0, 2.0 if self.is_right(grade) else -2.0)


class AsCoded(AsCodedStrict):
    r"""The same with Study 1's own match.

    "either A or B" is paid where B is right; B in quotes, bold or ``\\boxed{}`` is not. Source:
    zhebushipinyin/Tom-RL:verl/utils/reward_score/explore_tom.py (``compute_score``), which also
    reads a response only from the first "Assistant:" on; here it is read whole.
    """

    lenient = True


class AsWritten(Preset):
    """Format +1/-1 plus answer +2/-2, graded separately; a repeated tag fails both."""

    least = _LEAST

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        right = self.is_right(grade) and not repeats_a_tag(response)
        return Earned(1.0 if grade.format_ok else -1.0, 2.0 if right else -2.0)
