"""From what verl logs to the metrics that logs, tracker and report share.

Names and meanings are those of ``pipeline.train.metrics`` and ``pipeline.train.update``; verl's are
those of verl 0.9.1's file logger. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pipeline.formats.records import Figures
from pipeline.train.contract import Step

ANSWERED = "answered"
"""What ``pipeline.reward.verl_entry`` calls a figure: a job says why it does not import, and so
does not import it itself."""
BATCH_PREFIX = "tomrl/"
"""Before the names of the metrics of a batch (``pipeline.train.metrics``), in verl's log."""

CHECKED_LOSS = "val/loss"
"""Of imitation: the loss on the batch that checkpoints are verified with, in verl's log."""

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
_DRIFT = {
    "rollout_probs_diff_mean": "training/rollout_probs_diff_mean",
    "rollout_probs_diff_max": "training/rollout_probs_diff_max",
    "rollout_probs_diff_std": "training/rollout_probs_diff_std",
    "rollout_probs_correlation": "training/rollout_actor_probs_pearson_corr",
    "rollout_kl": "rollout_corr/kl",
}
"""How sampler and trainer differ, by our name; left out where it is no number (too few tokens)."""

_TIMING = {
    "seconds": "timing_s/step",
    "rollout_seconds": "timing_s/gen",
    "validation_seconds": "timing_s/testing",
    "save_seconds": "timing_s/save_checkpoint",
    "old_log_prob_seconds": "timing_s/old_log_prob",
    "reference_seconds": "timing_s/ref",
    "value_seconds": "timing_s/values",
    "critic_seconds": "timing_s/update_critic",
    "actor_seconds": "timing_s/update_actor",
    "weights_seconds": "timing_s/update_weights",
    "tokens_per_second": "perf/throughput",  # of each accelerator
    "mfu": "perf/mfu/actor",
}
_MEMORY = {
    "peak_memory_bytes": "actor/perf/max_memory_allocated_gb",
    "reserved_memory_bytes": "actor/perf/max_memory_reserved_gb",
}
_IMITATING = {
    "train/loss": "actor/loss",
    "train/grad_norm": "actor/grad_norm",
    "train/lr": "actor/lr",
    "train/mfu": "perf/mfu/actor",
    "perf/max_memory_allocated_gb": "actor/perf/max_memory_allocated_gb",
    "perf/max_memory_reserved_gb": "actor/perf/max_memory_reserved_gb",
}
"""The names of verl's trainer for imitation, as its trainer of RL calls the same."""
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
_ANSWERED = f"val-aux/{{source}}/{ANSWERED}/mean@1"


def step_row(
    step: int, logged: Mapping[str, float], validation: Mapping[str, int], at: float
) -> Step:
    """A step from one row of verl's file logger.

    Args:
        step: The step.
        logged: verl's metrics by verl's names.
        validation: Validation prompts of each task: verl logs one accuracy for each.
        at: When it was logged.

    Raises:
        KeyError: If verl validated some tasks but not others.
    """
    logged = {**{rl: logged[name] for name, rl in _IMITATING.items() if name in logged}, **logged}
    metrics: Figures = {
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
    metrics |= {
        name: logged[theirs]
        for name, theirs in _DRIFT.items()
        if math.isfinite(logged.get(theirs, math.nan))
    }
    accuracy = validation_accuracy(logged, validation)
    if accuracy is not None:
        metrics["validation_accuracy"] = accuracy
    timing: Figures = {name: logged[theirs] for name, theirs in _TIMING.items() if theirs in logged}
    if updates := [logged[name] for name in _UPDATE if name in logged]:
        timing["update_seconds"] = sum(updates)
    timing |= {n: logged[theirs] * _GIB for n, theirs in _MEMORY.items() if theirs in logged}
    return Step(step=step, metrics=metrics, timing=timing, at=at)


def validation_accuracy(logged: Mapping[str, float], validation: Mapping[str, int]) -> float | None:
    """The accuracy on all validation prompts; None if the step was not validated."""
    names = {source: _VALIDATION.format(source=source) for source in validation}
    if not any(name in logged for name in names.values()):
        return None
    correct = sum(logged[name] * validation[source] for source, name in names.items())
    return float(correct / sum(validation.values()))


def validation_answered(logged: Mapping[str, float], validation: Mapping[str, int]) -> int:
    """The validation prompts to which some answer was found.

    Raises:
        KeyError: If verl did not validate.
    """
    found = (logged[_ANSWERED.format(source=name)] * count for name, count in validation.items())
    return round(sum(found))
