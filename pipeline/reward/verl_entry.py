"""The reward as verl calls it: ``compute_score``, loaded by path, through the one grader.

verl passes the columns ``data_source``, ``reward_model.ground_truth`` and ``extra_info`` of the
dataset's row and the decoded response, and logs the returned numbers.
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
    """The reward of one response and its parts; a failure of grading earns what an empty one earns.

    Args:
        solution_str: The response, after the pre-filled ``<think>``.
        extra_info: The row's further fields.
        begun: Beginning of the response that verl counts to the prompt.

    Returns:
        :meth:`pipeline.reward.reward.Reward.figures`, and whether any answer was found.

    Raises:
        UserError: For an unknown preset or task, or a row of another layout.
    """
    example = example_of(extra_info, data_source, ground_truth)
    reward = safe_reward(load_preset(preset, settings), begun + solution_str, example)
    return {**reward.figures(), ANSWERED: float(bool(reward.grade.extracted))}
