"""From what verl logs to the metrics that logs, tracker and report share.

The names and meanings are the local trainer's (``pipeline.train.metrics``,
``pipeline.train.update``); verl's are those of verl 0.9.1's file logger. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median, pstdev
from typing import Any

BATCH_PREFIX = "tomrl/"
"""Before the names of what :func:`batch_metrics` found, in verl's log."""

_STATISTICS = {
    "loss": ("actor/loss",),
    "kl": ("actor/kl_loss", "actor/reward_kl_penalty"),  # in the loss, or in the reward
    "entropy": ("actor/entropy",),
    "clip_share": ("actor/pg_clipfrac",),
    "gradient_norm": ("actor/grad_norm",),
    "value_loss": ("critic/vf_loss",),
    "value_gradient_norm": ("critic/grad_norm",),
    "explained_variance": ("critic/vf_explained_var",),
    "learning_rate": ("actor/lr",),
}
_TIMING = {
    "seconds": "timing_s/step",
    "rollout_seconds": "timing_s/gen",
    "validation_seconds": "timing_s/testing",
    "save_seconds": "timing_s/save_checkpoint",
    "tokens_per_second": "perf/throughput",
}
_UPDATE_PARTS = (
    "old_log_prob",
    "ref",
    "values",
    "adv",
    "update_critic",
    "update_actor",
    "update_weights",
)
_UPDATE = tuple(f"timing_s/{part}" for part in _UPDATE_PARTS)
_GIB = 2**30
_VALIDATION = "val-core/{source}/acc/mean@1"


@dataclass(frozen=True)
class StepRow:
    """One step: deterministic metrics, how long it took, and when it ended.

    Attributes:
        step: The step; 0 is the base model.
        metrics: By the local trainer's names.
        timing: Seconds, tokens per second, bytes.
        at: Seconds since 1970.
    """

    step: int
    metrics: dict[str, Any]
    timing: dict[str, float]
    at: float

    def as_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return asdict(self)

    @property
    def accuracy(self) -> float | None:
        """Return the validation accuracy, if the step was validated."""
        return self.metrics.get("validation_accuracy")


def step_row(
    step: int, logged: Mapping[str, Any], validation: Mapping[str, int], at: float
) -> StepRow:
    """Return a step from one row of verl's file logger.

    Args:
        step: The step.
        logged: verl's metrics by verl's names.
        validation: Validation prompts of each task: verl logs one accuracy for each.
        at: When it was logged.

    Raises:
        KeyError: If verl validated some tasks but not others.
    """
    metrics = {
        name.removeprefix(BATCH_PREFIX): value
        for name, value in logged.items()
        if name.startswith(BATCH_PREFIX)
    }
    metrics |= {
        name: logged[theirs]
        for name, options in _STATISTICS.items()
        for theirs in options
        if theirs in logged
    }
    accuracy = validation_accuracy(logged, validation)
    if accuracy is not None:
        metrics["validation_accuracy"] = accuracy
    timing = {name: logged[theirs] for name, theirs in _TIMING.items() if theirs in logged}
    if updates := [logged[name] for name in _UPDATE if name in logged]:
        timing["update_seconds"] = sum(updates)
    if "perf/max_memory_allocated_gb" in logged:
        timing["peak_memory_bytes"] = logged["perf/max_memory_allocated_gb"] * _GIB
    return StepRow(step, metrics, timing, at)


def validation_accuracy(logged: Mapping[str, Any], validation: Mapping[str, int]) -> float | None:
    """Return the accuracy on all validation prompts; None if the step was not validated."""
    names = {source: _VALIDATION.format(source=source) for source in validation}
    if not any(name in logged for name in names.values()):
        return None
    correct = sum(logged[name] * validation[source] for source, name in names.items())
    return float(correct / sum(validation.values()))


def best_row(rows: Sequence[StepRow]) -> StepRow:
    """Return the best validated step: the earliest wins a tie, the base model is no candidate.

    Raises:
        ValueError: If no step was validated.
    """
    validated = [row for row in rows if row.step > 0 and row.accuracy is not None]
    return max(validated, key=lambda row: (row.accuracy, -row.step))


def batch_metrics(
    groups: Sequence[Sequence[float]],
    lengths: Sequence[int],
    finished: Sequence[bool],
    rewards: Sequence[Mapping[str, float]],
) -> dict[str, float]:
    """Return the metrics of one batch of rollouts.

    Args:
        groups: Scores of the completions of each prompt.
        lengths: Tokens of each completion.
        finished: Whether each ended with the end-of-sequence token.
        rewards: What ``pipeline.reward.verl_entry`` said about each.
    """
    scores = [score for group in groups for score in group]
    return {
        "reward_mean": mean(scores),
        "reward_std": pstdev(scores),
        "format_reward_mean": mean(r["format_reward"] for r in rewards),
        "answer_reward_mean": mean(r["answer_reward"] for r in rewards),
        "accuracy": mean(r["acc"] for r in rewards),
        "format_rate": mean(r["format"] for r in rewards),
        "length_mean": mean(lengths),
        "length_median": median(lengths),
        "length_p95": percentile(lengths, 0.95),
        "unfinished_share": mean(float(not f) for f in finished),
        "no_signal_share": mean(float(max(g) == min(g)) for g in groups),
        **_exceptional(rewards),
    }


def _exceptional(rewards: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return what only some runs have; as ``pipeline.train.metrics`` does."""
    found: dict[str, float] = {}
    if errors := sum(r["error"] for r in rewards):
        found["reward_errors"] = int(errors)
    if checked := [r for r in rewards if r["checked"]]:
        made = sum(r["claims"] for r in checked)
        found["fidelity_reward_mean"] = mean(r["fidelity_reward"] for r in rewards)
        found["fidelity_mean"] = mean(r["fidelity"] for r in checked)
        found["claims_mean"] = made / len(checked)
        found["claims_true_share"] = sum(r["claims_true"] for r in checked) / max(1, made)
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile, interpolated between neighbours as numpy does."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
