"""Metrics of a training step, by the names that logs, tracker and report share."""

from __future__ import annotations

from statistics import mean, median, pstdev
from typing import Any

import numpy as np

from pipeline.reward.presets import Reward
from pipeline.train.rollout import Rollouts
from pipeline.train.update import UpdateStatistics


def step_metrics(rollouts: Rollouts, statistics: UpdateStatistics) -> dict[str, Any]:
    """Return the metrics of one step; lengths are in tokens."""
    scores = [r.score for r in rollouts.rewards]
    lengths = [len(c.tokens) for c in rollouts.completions]
    group = rollouts.group
    groups = [scores[start : start + group] for start in range(0, len(scores), group)]
    return {
        "reward_mean": mean(scores),
        "reward_std": pstdev(scores),
        "format_reward_mean": mean(r.format_part for r in rollouts.rewards),
        "answer_reward_mean": mean(r.answer_part for r in rollouts.rewards),
        "accuracy": mean(float(r.grade.correct) for r in rollouts.rewards),
        "format_rate": mean(float(r.grade.format_ok) for r in rollouts.rewards),
        "length_mean": mean(lengths),
        "length_median": median(lengths),
        "length_p95": float(np.percentile(lengths, 95)),
        "unfinished_share": mean(float(not c.finished) for c in rollouts.completions),
        "no_signal_share": mean(float(max(g) == min(g)) for g in groups),
        **statistics.metrics(),
        **_exceptional(rollouts.rewards),
    }


def _exceptional(rewards: tuple[Reward, ...]) -> dict[str, Any]:
    """Return what only some runs have: figures of the reasoning, and responses grading failed on.

    ``claims_true_share`` is that of all claims of the batch, 0 where none is made.
    """
    found: dict[str, Any] = {}
    if errors := sum(r.error is not None for r in rewards):
        found["reward_errors"] = errors
    checked = [r for r in rewards if r.fidelity is not None]
    if checked:
        claims = [r.fidelity for r in checked if r.fidelity is not None]
        made = sum(c.made for c in claims)
        found["fidelity_reward_mean"] = mean(r.fidelity_part for r in rewards)
        found["fidelity_mean"] = mean(c.score for c in claims)
        found["claims_mean"] = made / len(claims)
        found["claims_true_share"] = sum(c.true for c in claims) / max(1, made)
    return found
