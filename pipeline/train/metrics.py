"""Metrics of a batch of rollouts, by the names in logs, trackers and reports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from statistics import mean, median, pstdev

import numpy as np

from pipeline.formats.records import Figures


def batch_metrics(
    groups: Sequence[Sequence[float]],
    responses: Sequence[Sequence[Hashable]],
    lengths: Sequence[int],
    finished: Sequence[bool],
    rewards: Sequence[Mapping[str, float]],
) -> Figures:
    """The metrics of one batch of rollouts.

    ``distinct_share`` is that among the completions of a prompt, if there are several.

    Args:
        finished: Each ended with the end-of-sequence token.
        rewards: :meth:`pipeline.reward.reward.Reward.figures` of each.
    """
    scores = [score for group in groups for score in group]
    measured: Figures = {
        "reward_mean": mean(scores),
        "reward_std": pstdev(scores),
        "format_reward_mean": mean(r["format_reward"] for r in rewards),
        "answer_reward_mean": mean(r["answer_reward"] for r in rewards),
        "accuracy": mean(r["acc"] for r in rewards),
        "format_rate": mean(r["format"] for r in rewards),
        "length_mean": mean(lengths),
        "length_median": median(lengths),
        "length_p95": float(np.percentile(lengths, 95)),
        "unfinished_share": mean(float(not f) for f in finished),
        "no_signal_share": mean(float(max(g) == min(g)) for g in groups),
    }
    if any(len(group) > 1 for group in responses):
        measured["distinct_share"] = mean(len(set(group)) / len(group) for group in responses)
    return measured


def exceptional_metrics(rewards: Sequence[Mapping[str, float]]) -> Figures:
    """Metrics of some runs only: failures of grading, and figures of the reasoning.

    ``claims_true_share`` is over all claims of the batch, 0 without any.
    """
    found: Figures = {}
    if errors := sum(r["error"] for r in rewards):
        found["reward_errors"] = int(errors)
    if checked := [r for r in rewards if r["checked"]]:
        made = sum(r["claims"] for r in checked)
        found["fidelity_reward_mean"] = mean(r["fidelity_reward"] for r in rewards)
        found["fidelity_mean"] = mean(r["fidelity"] for r in checked)
        found["claims_mean"] = made / len(checked)
        found["claims_true_share"] = sum(r["claims_true"] for r in checked) / max(1, made)
    return found
