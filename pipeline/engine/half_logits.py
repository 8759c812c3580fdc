"""Log-probabilities and entropies of tokens from bfloat16 logits, in blocks of rows.

A vocabulary's logits in single precision, their logarithm and its gradient are the largest tensors
of a training step. Blocks stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_AT_ONCE = 2**20
"""Single-precision numbers per block."""


def half_figures(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """From logits [N, V] and tokens [N] to log-probabilities and entropies in nats, each [N].

    Logits are divided by the temperature. No gradient flows through the entropies.
    """
    figures: tuple[Tensor, Tensor] = _OfHalfLogits.apply(logits, ids, temperature)  # type: ignore[no-untyped-call]
    return figures


class _OfHalfLogits(torch.autograd.Function):
    """See :func:`half_figures`."""

    @staticmethod
    def forward(
        context: Any, logits: Tensor, ids: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        logprobs, entropies, sums = (_empty(logits, len(logits)) for _ in range(3))
        weights = _empty(logits, 0)
        for rows, some in _parts(logits, temperature):
            largest = some.amax(1, keepdim=True)
            some.sub_(largest)
            torch.exp(some, out=weights.resize_(some.shape))
            total = weights.sum(1)
            logarithm = total.log()
            chosen = some.gather(1, ids[rows].unsqueeze(1)).squeeze(1)
            logprobs[rows] = chosen - logarithm
            entropies[rows] = logarithm - torch.linalg.vecdot(weights, some) / total
            sums[rows] = largest.squeeze(1) + logarithm
        context.save_for_backward(logits, ids, sums)
        context.temperature = temperature
        context.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        logits, ids, sums = context.saved_tensors
        found = torch.empty_like(logits)
        given = (gradient / context.temperature).unsqueeze(1)
        for rows, some in _parts(logits, context.temperature):
            some.sub_(sums[rows].unsqueeze(1)).exp_().mul_(-given[rows])
            found[rows] = some.scatter_add_(1, ids[rows].unsqueeze(1), given[rows])
        return found, None, None


def _empty(logits: Tensor, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32, device=logits.device)


def _parts(logits: Tensor, temperature: float) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of rows with their scaled single-precision logits [n, V], in one buffer."""
    count = max(1, _AT_ONCE // logits.shape[1])
    held = _empty(logits, count, logits.shape[1])
    for start in range(0, len(logits), count):
        rows = slice(start, start + count)
        some = held[: len(logits[rows])].copy_(logits[rows])
        yield rows, some if temperature == 1 else some.div_(temperature)
