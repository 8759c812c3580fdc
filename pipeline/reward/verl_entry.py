"""The reward as verl calls it: ``compute_score``, loaded by path, through the one grader.

verl hands over the columns ``data_source``, ``reward_model.ground_truth`` and ``extra_info`` of the
dataset's row and the decoded response, and logs the numbers that come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pipeline.data import rows as dataset_rows
from pipeline.reward.presets import Reward, safe_reward
from pipeline.tasks import registry
from pipeline.tasks.example import Example


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    preset: str,
    fidelity_weight: float = 0.5,
    rows: Sequence[str] = (),
    **_: Any,
) -> dict[str, float]:
    """Return the reward of one response and its parts.

    A response on which grading raises is data, not a crash: it earns what an empty one earns.

    Args:
        data_source: The task.
        solution_str: The response, after the pre-filled ``<think>``.
        ground_truth: The gold answer.
        extra_info: The row's further fields.
        preset: One of :data:`pipeline.reward.presets.PRESETS`.
        fidelity_weight: Of the preset ``fidelity``.
        rows: Dataset parquets, which say of each row what benchmark its story is from; only
            ``fidelity`` reads stories.

    Returns:
        ``score``, the sum of ``format_reward``, ``answer_reward`` and ``fidelity_reward``; ``acc``
        and ``format``, whether the answer and the form are right; of a checked reasoning
        ``fidelity``, ``claims`` and ``claims_true``, and whether it was ``checked``; ``error``,
        whether grading failed.

    Raises:
        UserError: If the preset or the task is unknown.
    """
    example = example_of(data_source, ground_truth, extra_info or {}, _benchmarks(tuple(rows)))
    found = safe_reward(preset, solution_str, example, fidelity_weight=fidelity_weight)
    return _parts(found)


def example_of(
    data_source: str,
    ground_truth: str,
    extra_info: Mapping[str, Any],
    benchmarks: Mapping[str, str],
) -> Example:
    """Return the example that a row of a dataset stands for.

    Args:
        data_source: The task.
        ground_truth: The gold answer.
        extra_info: The row's further fields.
        benchmarks: Benchmarks by the id of the row; without it, the task's.
    """
    found = str(extra_info.get("id") or "")
    return dataset_rows.example_of(
        extra_info,
        benchmark=benchmarks.get(found) or registry.get(data_source).benchmark,
        task=data_source,
        answer=ground_truth,
        story_id=extra_info.get("story_id") or "",
        id=found,
    )


@lru_cache(maxsize=2)
def _benchmarks(paths: tuple[str, ...]) -> dict[str, str]:
    """Return the benchmark of every row of some datasets, by the row's id."""
    import pandas as pd

    frames = [pd.read_parquet(path, columns=["ability", "extra_info"]) for path in paths]
    return {
        info["id"]: ability
        for frame in frames
        for ability, info in zip(frame["ability"], frame["extra_info"], strict=True)
    }


def _parts(found: Reward) -> dict[str, float]:
    """Return numbers only, and the same names for every response: verl averages them."""
    checked = found.fidelity
    return {
        "score": found.score,
        "acc": float(found.grade.correct),
        "format": float(found.grade.format_ok),
        "format_reward": found.format_part,
        "answer_reward": found.answer_part,
        "fidelity_reward": found.fidelity_part,
        "checked": float(checked is not None),
        "fidelity": checked.score if checked else 0.0,
        "claims": float(checked.made) if checked else 0.0,
        "claims_true": float(checked.true) if checked else 0.0,
        "error": float(found.error is not None),
    }
