"""One policy update from one batch of rollouts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.config.training import Train
from pipeline.model.batch import pad_right
from pipeline.train.algorithms import advantages, at_last_token, gae_advantages
from pipeline.train.critic import explained_variance
from pipeline.train.learner import Learner, NotFinite
from pipeline.train.losses import (
    Clip,
    kl_estimate,
    loss_count,
    loss_sum,
    policy_loss,
    value_loss,
)
from pipeline.train.rollout import Rollouts
from pipeline.train.scoring import (
    MicroBatch,
    Scores,
    estimate_values,
    fixed_logprobs,
    micro_batches,
    score,
    whole_batch,
)


@dataclass(frozen=True)
class Batch:
    """What the update of a batch starts from, computed before the first optimiser step.

    B = completions, T = tokens of the longest. ``old`` and ``reference`` are log-probabilities;
    None where each micro-batch computes its own.
    """

    mask: Tensor  # [B, T], True on completion tokens
    advantage: Tensor  # [B, T]
    old: Tensor | None = None  # [B, T]
    reference: Tensor | None = None  # [B, T]
    values: Tensor | None = None  # [B, T], of the critic
    returns: Tensor | None = None  # [B, T], what the critic should have said


@dataclass(frozen=True, slots=True)
class UpdateStatistics:
    """Token means over the batch, and the gradient norm before clipping; of PPO also the critic's.

    ``explained_variance`` is the share of the returns' variance that the critic foresaw.
    """

    loss: float
    kl: float
    entropy: float
    clip_share: float
    advantage_std: float
    gradient_norm: float
    value_loss: float | None = None
    value_gradient_norm: float | None = None
    explained_variance: float | None = None

    def metrics(self) -> dict[str, Any]:
        """Return the statistics that the algorithm has, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def update(
    policy: Learner,
    reference: PreTrainedModel,
    critic: Learner | None,
    rollouts: Rollouts,
    recipe: Train,
    algorithm: str,
) -> UpdateStatistics:
    """Improve the policy on one batch: ``updates_per_batch`` optimiser steps over parts of it.

    Args:
        policy: The policy.
        reference: The frozen base model.
        critic: PPO's critic; None for the other algorithms.
        rollouts: The batch.
        recipe: The training recipe.
        algorithm: Name of the algorithm.

    Raises:
        NotFinite: If a loss or gradient is not a finite number.
    """
    batch = _prepare(policy.model, reference, critic, rollouts, recipe, algorithm)
    prompts = len(rollouts.rows)
    part = -(-prompts // recipe.updates_per_batch)
    totals = torch.zeros(5)
    norms, value_norms = [], []
    for start in range(0, prompts, part):
        chosen = range(start, min(start + part, prompts))
        totals += _accumulate(
            policy.model, reference, critic, rollouts, batch, chosen, recipe, algorithm
        )
        if not torch.isfinite(totals).all():
            policy.optimizer.zero_grad()
            raise NotFinite(f"the loss is {totals[0].item()}")
        norms.append(policy.step(recipe.gradient_clip))
        if critic is not None:
            value_norms.append(critic.step(recipe.gradient_clip))
    return _statistics(batch, totals, norms, value_norms, recipe)


def _prepare(
    policy: PreTrainedModel,
    reference: PreTrainedModel,
    critic: Learner | None,
    rollouts: Rollouts,
    recipe: Train,
    algorithm: str,
) -> Batch:
    _, mask = pad_right([c.tokens for c in rollouts.completions], 0, policy.device)
    scores = torch.tensor([r.score for r in rollouts.rewards], device=policy.device)
    rewards = at_last_token(scores, mask)
    parts = list(micro_batches(rollouts, recipe, range(len(rollouts.rows))))
    old = before = anchor = None
    if recipe.updates_per_batch > 1 or recipe.kl_in_reward:
        old = _all_logprobs(policy, parts, recipe)
        before = old if recipe.updates_per_batch > 1 else None
    if recipe.kl_in_reward and algorithm != "sft":
        assert old is not None
        anchor = _all_logprobs(reference, parts, recipe)
        penalty = kl_estimate(old, anchor, recipe.kl_kind) * mask
        rewards = rewards - recipe.kl_coefficient * penalty
    if critic is None:
        group, by_std = rollouts.group, recipe.normalise_by_std
        advantage = advantages(algorithm, rewards, mask, group, by_std=by_std)
        return Batch(mask, advantage, before, anchor)
    with torch.no_grad():
        values = whole_batch([estimate_values(critic.model, part, recipe) for part in parts])
    advantage, returns = gae_advantages(
        rewards, values, mask, discount=recipe.discount, decay=recipe.gae_decay
    )
    return Batch(mask, advantage, before, anchor, values, returns)


def _all_logprobs(model: PreTrainedModel, parts: list[MicroBatch], recipe: Train) -> Tensor:
    """Return the log-probabilities of the whole batch [B, T]."""
    return whole_batch([fixed_logprobs(model, part, recipe) for part in parts])


def _accumulate(
    policy: PreTrainedModel,
    reference: PreTrainedModel,
    critic: Learner | None,
    rollouts: Rollouts,
    batch: Batch,
    chosen: range,
    recipe: Train,
    algorithm: str,
) -> Tensor:
    """Add the gradients of some prompts.

    Returns:
        Sums over them of the loss, KL, entropy, clipped tokens and value loss [5].
    """
    rows = slice(chosen.start * rollouts.group, chosen.stop * rollouts.group)
    count = loss_count(batch.mask[rows], recipe.aggregation, recipe.max_new_tokens)
    totals = torch.zeros(5)
    for part in micro_batches(rollouts, recipe, chosen):
        scores = score(policy, part, recipe)
        if algorithm == "sft":
            loss, sums = _imitation(scores, recipe)
        else:
            anchor = _reference_logprobs(reference, part, batch, recipe)
            loss, sums = _policy(scores, anchor, part, batch, recipe)
        (loss / count).backward()  # type: ignore[no-untyped-call]
        totals += torch.stack([*sums, _value(critic, part, batch, recipe, count)]).cpu()
    return totals


def _reference_logprobs(
    reference: PreTrainedModel, part: MicroBatch, batch: Batch, recipe: Train
) -> Tensor:
    if batch.reference is not None:
        width = max(map(len, part.completions))
        return batch.reference[part.rows, :width]
    return fixed_logprobs(reference, part, recipe)


def _policy(
    scores: Scores, anchor: Tensor, part: MicroBatch, batch: Batch, recipe: Train
) -> tuple[Tensor, list[Tensor]]:
    """Return the loss of a micro-batch, and its sums of loss, KL, entropy and clipped tokens."""
    mask, width = scores.mask, scores.mask.shape[1]
    before = scores.logprobs.detach() if batch.old is None else batch.old[part.rows, :width]
    surrogate = policy_loss(
        scores.logprobs, before, batch.advantage[part.rows, :width], _clip(recipe)
    )
    kl = kl_estimate(scores.logprobs, anchor, recipe.kl_kind)
    weight = 0.0 if recipe.kl_in_reward else recipe.kl_coefficient
    loss = (
        loss_sum(surrogate.losses, mask, recipe.aggregation)
        + weight * loss_sum(kl, mask, recipe.aggregation)
        - recipe.entropy_coefficient * loss_sum(scores.entropies, mask, recipe.aggregation)
    )
    clipped = (surrogate.clipped & mask).sum().float()
    sums = [loss, (kl * mask).sum(), scores.entropies.sum(), clipped]
    return loss, [value.detach() for value in sums]


def _imitation(scores: Scores, recipe: Train) -> tuple[Tensor, list[Tensor]]:
    """Return the negative log-likelihood, and the same sums as :func:`_policy`."""
    loss = loss_sum(-scores.logprobs, scores.mask, recipe.aggregation)
    nothing = torch.zeros_like(loss)
    return loss, [loss.detach(), nothing, scores.entropies.sum().detach(), nothing]


def _value(
    critic: Learner | None, part: MicroBatch, batch: Batch, recipe: Train, count: int
) -> Tensor:
    """Add the critic's gradients of a micro-batch; return the sum of its losses."""
    if critic is None:
        return torch.zeros((), device=batch.mask.device)
    assert batch.values is not None and batch.returns is not None
    values = estimate_values(critic.model, part, recipe)
    rows, width = part.rows, values.shape[1]
    losses = value_loss(
        values, batch.values[rows, :width], batch.returns[rows, :width], recipe.value_clip
    )
    total = loss_sum(losses, batch.mask[rows, :width], recipe.aggregation)
    (total / count).backward()  # type: ignore[no-untyped-call]
    return total.detach()


def _clip(recipe: Train) -> Clip:
    high = recipe.clip_range if recipe.clip_range_high is None else recipe.clip_range_high
    return Clip(recipe.clip_range, high, recipe.dual_clip)


def _statistics(
    batch: Batch, totals: Tensor, norms: list[float], value_norms: list[float], recipe: Train
) -> UpdateStatistics:
    mask, tokens = batch.mask, max(1, int(batch.mask.sum()))
    count = loss_count(mask, recipe.aggregation, recipe.max_new_tokens)
    counts = torch.tensor([count, tokens, tokens, tokens, count])
    loss, kl, entropy, clipped, value = (totals / counts).tolist()
    spread = float(batch.advantage[mask].std()) if tokens > 1 else 0.0
    statistics = (loss, kl, entropy, clipped, spread, sum(norms) / len(norms))
    if batch.values is None or batch.returns is None:
        return UpdateStatistics(*statistics)
    foreseen = explained_variance(batch.values[mask], batch.returns[mask])
    return UpdateStatistics(*statistics, value, sum(value_norms) / len(value_norms), foreseen)
