"""The reward as verl calls it: ``compute_score``, loaded by path, through the one grader.

verl hands over the columns ``data_source``, ``reward_model.ground_truth`` and ``extra_info`` of the
dataset's row and the decoded response, and logs the numbers that come back.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.data.codec import example_of
from pipeline.reward.presets import load_preset, safe_reward

ANSWERED = "answered"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, object],
    *,
    preset: str,
    settings: Mapping[str, float] | None = None,
    begun: str = "",
    **_: object,
) -> dict[str, float]:
    """The reward of one response and its parts.

    A response on which grading raises is data, not a crash: it earns what an empty one earns.

    Args:
        data_source: The task.
        solution_str: The response, after the pre-filled ``<think>``.
        ground_truth: The gold answer.
        extra_info: The row's further fields.
        preset: One of :data:`pipeline.base.plugins.REWARDS`.
        settings: The preset's own settings.
        begun: What the response begins with that verl counts to the prompt.

    Returns:
        See :meth:`pipeline.reward.reward.Reward.figures`, and whether some answer was found, right
        or wrong; verl averages them.

    Raises:
        UserError: If the preset or the task is unknown, or the row is in no dataset's layout.
    """
    example = example_of(extra_info, data_source, ground_truth)
    reward = safe_reward(load_preset(preset, settings), begun + solution_str, example)
    return {**reward.figures(), ANSWERED: float(bool(reward.grade.extracted))}
