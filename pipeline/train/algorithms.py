"""Advantages as pure functions on tensors.

Shapes: B = responses in the batch (P prompts x G rollouts, those of a prompt adjacent), T = tokens.
``mask`` [B, T] is True on response tokens. ``rewards`` [B, T] holds the reward of each token: an
outcome reward stands on the last token of its response (:func:`at_last_token`), a KL penalty on
every token. Everything agrees with ``verl.trainer.ppo.core_algos``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import Tensor

from pipeline.config.algorithms import AlgorithmBase, Grpo, Ppo, ReinforcePlusPlus, Rft, Sft

_EPSILON = 1e-6


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """0 over no positions."""
    return (values * mask).sum() / mask.sum().clamp_min(1)


def whiten(values: Tensor, mask: Tensor) -> Tensor:
    """Values normalised to mean 0 and variance 1 over True positions."""
    count = mask.sum()
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask) * count / (count - 1).clamp_min(1)
    return (values - mean) * torch.rsqrt(variance + 1e-8)


def at_last_token(scores: Tensor, mask: Tensor) -> Tensor:
    """Token rewards [B, T] with each score [B] on the last token of its response, if it has any."""
    last = (mask.long().cumsum(-1) == mask.sum(-1, keepdim=True)) & mask
    return scores.unsqueeze(-1) * last


def reward_to_go(rewards: Tensor) -> Tensor:
    """The sum of the rewards from each token on. [B, T] -> [B, T]."""
    return rewards.flip(-1).cumsum(-1).flip(-1)


def grpo_advantages(rewards: Tensor, mask: Tensor, group: int, *, by_std: bool = True) -> Tensor:
    """Group-normalised advantages [B, T]: (reward - group mean) / (group std + 1e-6).

    A group of equal rewards gets exactly 0; verl's rounding leaves up to 0.1 for rewards that are
    no sums of powers of two.

    GRPO (Shao et al. 2024, arXiv 2402.03300, section 4.1.2); without the division Dr. GRPO (Liu et
    al. 2025, arXiv 2503.20783).

    Args:
        rewards: Token rewards [B, T]; their sum is the reward of a response.
        mask: Response mask [B, T].
        group: Rollouts per prompt. A group of one keeps its raw reward (mean 0, std 1).
        by_std: Divide by the group's standard deviation.
    """
    scores = rewards.sum(-1)
    if group > 1:
        grouped = scores.view(-1, group)
        centred = grouped - grouped.mean(1, keepdim=True)
        if by_std:
            centred = centred / (grouped.std(1, keepdim=True) + _EPSILON)
        # The mean of equal rewards such as 0.1 is off by rounding, which the division blows up.
        equal = grouped.amax(1, keepdim=True) == grouped.amin(1, keepdim=True)
        centred = centred.masked_fill(equal, 0)
        scores = centred.reshape(-1)
    elif by_std:
        scores = scores / (1 + _EPSILON)
    return scores.unsqueeze(-1) * mask


def reinforce_plus_plus_advantages(rewards: Tensor, mask: Tensor) -> Tensor:
    """Rewards-to-go [B, T], whitened over all response tokens of the batch.

    REINFORCE++ (Hu 2025, arXiv 2501.03262).
    """
    return whiten(reward_to_go(rewards) * mask, mask) * mask


def gae_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, *, discount: float = 1.0, decay: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimates, whitened, and returns for the critic.

    Schulman et al. 2016, arXiv 1506.02438, eq. 16; the whitening is PPO's usual practice.

    Args:
        values: The critic's value of the state before each token [B, T].
        decay: Lambda: 1 weighs all later rewards, 0 trusts the next value.

    Returns:
        advantages [B, T] and returns [B, T], both 0 on padding.
    """
    values = values * mask
    following = torch.zeros_like(values[:, 0])
    running = torch.zeros_like(following)
    raw = []
    for step in reversed(range(values.shape[1])):
        real = mask[:, step]
        error = rewards[:, step] + discount * following - values[:, step]
        running = torch.where(real, error + discount * decay * running, running)
        following = torch.where(real, values[:, step], following)
        raw.append(running)
    advantage = torch.stack(raw[::-1], dim=1)
    return whiten(advantage, mask) * mask, (advantage + values) * mask


@dataclass(frozen=True)
class Signal:
    """Inputs of advantages; ``rewards``, ``mask`` and the critic's ``values`` are [B, T]."""

    rewards: Tensor
    mask: Tensor
    group: int
    values: Tensor | None = None


@dataclass(frozen=True)
class AdvantageEstimate:
    """Advantages [B, T], and returns [B, T] for a critic."""

    advantage: Tensor
    returns: Tensor | None = None


@singledispatch
def estimate(algorithm: AlgorithmBase, signal: Signal) -> AdvantageEstimate:
    raise TypeError(f"no advantages are registered for {algorithm!r}")


@estimate.register
def _(algorithm: Grpo, signal: Signal) -> AdvantageEstimate:
    by_std = algorithm.normalise_by_std
    return AdvantageEstimate(
        grpo_advantages(signal.rewards, signal.mask, signal.group, by_std=by_std)
    )


@estimate.register
def _(algorithm: ReinforcePlusPlus, signal: Signal) -> AdvantageEstimate:
    return AdvantageEstimate(reinforce_plus_plus_advantages(signal.rewards, signal.mask))


@estimate.register
def _(algorithm: Ppo, signal: Signal) -> AdvantageEstimate:
    assert signal.values is not None
    discount, decay = algorithm.discount, algorithm.gae_decay
    found = gae_advantages(
        signal.rewards, signal.values, signal.mask, discount=discount, decay=decay
    )
    return AdvantageEstimate(*found)


@estimate.register
def _(algorithm: Sft | Rft, signal: Signal) -> AdvantageEstimate:
    return AdvantageEstimate(signal.mask.to(signal.rewards.dtype))
