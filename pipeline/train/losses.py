"""Losses per token and their reduction, as pure functions on tensors.

Shapes: B = responses, T = tokens; ``mask`` [B, T] is True on response tokens. Everything agrees
with ``verl.trainer.ppo.core_algos``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def kl_estimate(logprobs: Tensor, reference: Tensor, kind: str) -> Tensor:
    """A per-token estimate of KL(policy || reference) [B, T] (Schulman 2020).

    Args:
        kind: ``kl`` (k1), ``mse`` (k2) or ``low_var_kl`` (k3, clamped to +-10).
    """
    difference = logprobs - reference
    match kind:
        case "kl":
            return difference
        case "mse":
            return 0.5 * difference.square()
        case "low_var_kl":
            ratio = (-difference).clamp(-20, 20)
            return (ratio.exp() - ratio - 1).clamp(-10, 10)
        case _:
            raise ValueError(f"unknown KL estimator {kind!r}")


@dataclass(frozen=True)
class Clip:
    """Clip range of the probability ratio.

    Attributes:
        low: The ratio is clipped below at 1 - low.
        high: The ratio is clipped above at 1 + high; larger than ``low``, rare tokens can grow
            ("clip-higher" of DAPO, Yu et al. 2025, arXiv 2503.14476, section 3.1).
        dual: For negative advantages, the loss is at most ``dual`` times their size (Ye et al.
            2020, arXiv 1912.09729, eq. 5); None leaves it unbounded, as PPO does.
    """

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None


@dataclass(frozen=True)
class PolicyLoss:
    """The clipped surrogate loss of each token, and a mask of clipped ones, both [B, T]."""

    losses: Tensor
    clipped: Tensor


def policy_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantage: Tensor, clip: Clip
) -> PolicyLoss:
    """The clipped surrogate loss of PPO (Schulman et al. 2017, arXiv 1707.06347, eq. 7).

    Args:
        logprobs: Current log-probabilities [B, T], with gradient.
        old_logprobs: Log-probabilities at sampling time [B, T].
        advantage: Advantages [B, T].
    """
    ratio = torch.exp((logprobs - old_logprobs).clamp(-20, 20))
    plain = -advantage * ratio
    limited = -advantage * ratio.clamp(1 - clip.low, 1 + clip.high)
    losses = torch.maximum(plain, limited)
    if clip.dual is not None:
        bounded = torch.minimum(losses, -advantage * clip.dual)
        losses = torch.where(advantage < 0, bounded, losses)
    return PolicyLoss(losses, limited > plain)


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip_range: float) -> Tensor:
    """The clipped squared error of the critic, halved, for each token [B, T].

    ``old_values`` are those at sampling time, ``returns`` the targets.
    """
    near = torch.clamp(values, old_values - clip_range, old_values + clip_range)
    return 0.5 * torch.maximum((values - returns).square(), (near - returns).square())


def loss_sum(losses: Tensor, mask: Tensor, aggregation: str) -> Tensor:
    """The sum of losses; divided by :func:`loss_count` of the whole batch, it is the loss.

    Sums of micro-batches add up exactly to that of their batch.

    Args:
        losses: Loss of each token [B, T].
        mask: Response mask [B, T].
        aggregation: ``token-mean``: every token weighs the same. ``token-sum``: the same, not
            divided by anything. ``seq-mean-token-sum``: the sum of a response, averaged over
            responses. ``seq-mean-token-sum-norm``: that, divided by the most tokens a response may
            have (Dr. GRPO, Liu et al. 2025, arXiv 2503.20783). ``seq-mean-token-mean``: the mean of
            a response, averaged over responses (GRPO, eq. 3).
    """
    if aggregation != "seq-mean-token-mean":
        return (losses * mask).sum()
    return ((losses * mask).sum(-1) / mask.sum(-1).clamp_min(1)).sum()


def loss_count(mask: Tensor, aggregation: str, longest: int) -> int:
    """The divisor of a sum of losses (at least 1).

    Args:
        aggregation: As in :func:`loss_sum`; responses without a token do not count.
    """
    match aggregation:
        case "token-mean":
            return max(1, int(mask.sum()))
        case "token-sum":
            return 1
        case "seq-mean-token-sum" | "seq-mean-token-mean":
            return max(1, int(mask.any(-1).sum()))
        case "seq-mean-token-sum-norm":
            return max(1, int(mask.any(-1).sum())) * longest
    raise ValueError(f"unknown aggregation {aggregation!r}")
