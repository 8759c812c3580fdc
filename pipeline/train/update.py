"""One policy update from one batch of rollouts.

Shapes: B = completions of the batch, T = tokens of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Train
from pipeline.engine.batch import pad_right, sent
from pipeline.engine.device import autocast
from pipeline.formats.records import Figures
from pipeline.train.algorithms import Signal, at_last_token, estimate
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
    Batching,
    MicroBatch,
    Scores,
    Scoring,
    estimate_values,
    fixed_logprobs,
    micro_batches,
    score,
    whole_batch,
)


@dataclass(frozen=True)
class Batch:
    """Inputs of the update of a batch, computed before the first optimiser step.

    ``old`` and ``reference`` are log-probabilities; None where each micro-batch computes its own.
    """

    rollouts: Rollouts
    mask: Tensor  # [B, T], True on completion tokens
    advantage: Tensor  # [B, T]
    old: Tensor | None = None  # [B, T]
    reference: Tensor | None = None  # [B, T]
    values: Tensor | None = None  # [B, T], of the critic
    returns: Tensor | None = None  # [B, T], what the critic should have said
    teaching: int | None = None  # prompts, the first ones, that teach something; all if None

    def sorted(self) -> Batch:
        """The same with prompts whose advantages are all zero moved to the end.

        At least one counts as nonzero: an optimiser moves on gradients of zero, too.
        """
        teaches = self.advantage.view(len(self.rollouts.rows), -1).any(1).tolist()
        order = sorted(range(len(teaches)), key=lambda prompt: not teaches[prompt])
        if order == list(range(len(order))):
            return replace(self, teaching=max(1, sum(teaches)))
        rows = sent(order, self.mask.device).unsqueeze(1) * self.rollouts.group
        rows = (rows + torch.arange(self.rollouts.group, device=rows.device)).flatten()
        mask, advantage, old, reference = (
            each if each is None else each[rows]
            for each in (self.mask, self.advantage, self.old, self.reference)
        )
        assert mask is not None and advantage is not None
        rollouts = self.rollouts.ordered(order)
        return Batch(rollouts, mask, advantage, old, reference, teaching=max(1, sum(teaches)))


@dataclass(frozen=True, slots=True)
class UpdateStatistics:
    """Token means over the batch, and the gradient norm before clipping; for PPO also the critic's.

    ``explained_variance`` is the share of the returns' variance that the critic predicts. ``kl`` is
    None without a penalty: the reference model is not run then.
    """

    loss: float
    kl: float | None
    entropy: float
    clip_share: float
    advantage_std: float
    gradient_norm: float
    value_loss: float | None = None
    value_gradient_norm: float | None = None
    explained_variance: float | None = None

    def metrics(self) -> Figures:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Updater:
    """Improves a policy on batches of rollouts."""

    recipe: Train
    algorithm: Algorithm
    policy: Learner
    reference: PreTrainedModel | None
    critic: Learner | None

    @property
    def _scoring(self) -> Scoring:
        recipe = self.recipe
        return Scoring(recipe.temperature, recipe.precision, recipe.entropy_coefficient > 0)

    @property
    def _kl_weight(self) -> float:
        """Weight of the KL penalty in the loss."""
        return 0.0 if self.recipe.kl_in_reward else self.recipe.kl_coefficient

    def _parts(self, rollouts: Rollouts, chosen: range) -> Iterator[MicroBatch]:
        """The micro-batches of some prompts."""
        recipe = self.recipe
        batching = Batching(recipe.groups_per_micro_batch, recipe.tokens_per_micro_batch)
        return micro_batches(rollouts, batching, chosen)

    def _sum(self, losses: Tensor, mask: Tensor) -> Tensor:
        """The sum of token losses [N, T] that :meth:`_count` makes a mean."""
        return loss_sum(losses, mask, self.recipe.aggregation)

    def _count(self, mask: Tensor) -> int:
        """The divisor of the sum over a whole batch."""
        return loss_count(mask, self.recipe.aggregation, self.recipe.max_new_tokens)

    def prepare(self, rollouts: Rollouts) -> Batch:
        """The advantages of a batch, and other inputs of its optimiser steps."""
        policy, recipe = self.policy.model, self.recipe
        _, mask = pad_right([c.tokens for c in rollouts.completions], 0, policy.device)
        scores = sent([r.score for r in rollouts.rewards], policy.device)
        rewards = at_last_token(scores, mask)
        parts = list(self._parts(rollouts, range(len(rollouts.rows))))
        old = anchor = None
        if recipe.updates_per_batch > 1 or recipe.kl_in_reward:
            old = self._all_logprobs(policy, parts)
        if recipe.kl_in_reward and recipe.kl_coefficient and self.algorithm.reference:
            assert old is not None and self.reference is not None
            anchor = self._all_logprobs(self.reference, parts)
            penalty = kl_estimate(old, anchor, recipe.kl_kind) * mask
            rewards = rewards - recipe.kl_coefficient * penalty
        values = self._all_values(parts)
        found = estimate(self.algorithm, Signal(rewards, mask, rollouts.group, values))
        # With a single step on the batch, the policy is still the one that it was sampled from.
        old = old if recipe.updates_per_batch > 1 else None
        return Batch(rollouts, mask, found.advantage, old, anchor, values, found.returns)

    def update(self, batch: Batch) -> UpdateStatistics:
        """Take the optimiser steps, each on its part of the prompts; NotFinite stops them."""
        if self._can_skip:
            batch = batch.sorted()
        prompts = len(batch.rollouts.rows)
        part = -(-prompts // self.recipe.updates_per_batch)
        totals = torch.zeros(5, device=batch.mask.device)
        norms, value_norms = [], []
        for start in range(0, prompts, part):
            totals += self._accumulate(batch, range(start, min(start + part, prompts)))
            if not torch.isfinite(totals).all():
                self.policy.optimizer.zero_grad()
                raise NotFinite(f"the loss is {totals[0].item()}")
            norms.append(self.policy.step(self.recipe.gradient_clip))
            if self.critic is not None:
                value_norms.append(self.critic.step(self.recipe.gradient_clip))
        return self._statistics(batch, totals, norms, value_norms)

    @property
    def _can_skip(self) -> bool:
        """Prompts whose advantages are all zero have no gradient."""
        weighed = self._kl_weight or self.recipe.entropy_coefficient
        once = self.recipe.updates_per_batch == 1
        return self.algorithm.samples and not weighed and once and self.critic is None

    def _all_logprobs(self, model: PreTrainedModel, parts: Sequence[MicroBatch]) -> Tensor:
        """[B, T]."""
        return whole_batch([fixed_logprobs(model, part, self._scoring) for part in parts])

    @torch.no_grad()
    def _all_values(self, parts: Sequence[MicroBatch]) -> Tensor | None:
        """[B, T]."""
        if self.critic is None:
            return None
        model, precision = self.critic.model, self.recipe.precision
        return whole_batch([estimate_values(model, part, precision) for part in parts])

    def _accumulate(self, batch: Batch, chosen: range) -> Tensor:
        """Add the gradients of some prompts; return sums of loss, KL, entropy, clipped tokens and
        value loss [5].
        """
        rollouts = batch.rollouts
        rows = slice(chosen.start * rollouts.group, chosen.stop * rollouts.group)
        count = self._count(batch.mask[rows])
        learn = self._policy_loss if self.algorithm.weighs else self._imitation_loss
        totals = torch.zeros(5, device=batch.mask.device)
        cut = chosen.stop if batch.teaching is None else batch.teaching
        # In one context the weights are cast once, not for each micro-batch.
        with autocast(batch.mask.device, self.recipe.precision):
            for prompts in (range(chosen.start, cut), range(cut, chosen.stop)):
                silent = prompts.start == cut
                for part in self._parts(rollouts, prompts) if prompts else ():
                    with torch.no_grad() if silent else nullcontext():
                        scores = score(self.policy.model, part, self._scoring)
                        loss, sums = learn(scores, part, batch)
                    if not silent:
                        (loss / count).backward()  # type: ignore[no-untyped-call]
                    totals += torch.stack([*sums, self._value_loss(part, batch, count)])
        return totals

    def _policy_loss(
        self, scores: Scores, part: MicroBatch, batch: Batch
    ) -> tuple[Tensor, list[Tensor]]:
        """The loss of a micro-batch, and its sums of loss, KL, entropy, clipped tokens."""
        recipe, mask, width = self.recipe, scores.mask, scores.mask.shape[1]
        before = scores.logprobs.detach() if batch.old is None else batch.old[part.rows, :width]
        advantage = batch.advantage[part.rows, :width]
        clip = Clip(recipe.clip_range, recipe.clip_high, recipe.dual_clip)
        surrogate = policy_loss(scores.logprobs, before, advantage, clip)
        loss = self._sum(surrogate.losses, mask)
        loss = loss - recipe.entropy_coefficient * self._sum(scores.entropies, mask)
        kl = torch.zeros_like(scores.logprobs)
        if recipe.kl_coefficient:
            kl = kl_estimate(scores.logprobs, self._anchor(part, batch), recipe.kl_kind)
            loss = loss + self._kl_weight * self._sum(kl, mask)
        clipped = (surrogate.clipped & mask).sum().float()
        sums = [loss, (kl * mask).sum(), scores.entropies.sum(), clipped]
        return loss, [value.detach() for value in sums]

    def _anchor(self, part: MicroBatch, batch: Batch) -> Tensor:
        """The reference model's log-probabilities of a micro-batch."""
        if batch.reference is not None:
            return batch.reference[part.rows, : max(map(len, part.completions))]
        assert self.reference is not None
        return fixed_logprobs(self.reference, part, self._scoring)

    def _imitation_loss(
        self, scores: Scores, part: MicroBatch, batch: Batch
    ) -> tuple[Tensor, list[Tensor]]:
        """The negative log-likelihood, and the same sums as :meth:`_policy_loss`."""
        loss = self._sum(-scores.logprobs, scores.mask)
        nothing = torch.zeros_like(loss)
        return loss, [loss.detach(), nothing, scores.entropies.sum().detach(), nothing]

    def _value_loss(self, part: MicroBatch, batch: Batch, count: int) -> Tensor:
        """Add the critic's gradients of a micro-batch; return the sum of its losses."""
        settings = self.algorithm.critic
        if self.critic is None or settings is None:
            return torch.zeros((), device=batch.mask.device)
        assert batch.values is not None and batch.returns is not None
        values = estimate_values(self.critic.model, part, self.recipe.precision)
        rows, width = part.rows, values.shape[1]
        losses = value_loss(
            values,
            batch.values[rows, :width],
            batch.returns[rows, :width],
            settings.value_clip,
        )
        total = self._sum(losses, batch.mask[rows, :width])
        (total / count).backward()  # type: ignore[no-untyped-call]
        return total.detach()

    def _statistics(
        self, batch: Batch, totals: Tensor, norms: list[float], value_norms: list[float]
    ) -> UpdateStatistics:
        mask, tokens = batch.mask, max(1, int(batch.mask.sum()))
        count = self._count(mask)
        counts = torch.tensor([count, tokens, tokens, tokens, count], device=totals.device)
        loss, kl, entropy, clipped, value = (totals / counts).tolist()
        spread = float(batch.advantage[mask].std()) if tokens > 1 else 0.0
        measured = self.recipe.kl_coefficient or not self.algorithm.samples
        statistics = (
            loss,
            kl if measured else None,
            entropy,
            clipped,
            spread,
            sum(norms) / len(norms),
        )
        if batch.values is None or batch.returns is None:
            return UpdateStatistics(*statistics)
        foreseen = explained_variance(batch.values[mask], batch.returns[mask])
        return UpdateStatistics(*statistics, value, sum(value_norms) / len(value_norms), foreseen)
