"""Log-probabilities and values of sampled completions, in micro-batches.

Shapes: N = completions of a micro-batch, T = its longest completion in tokens, V = vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine.batch import pad_right, real_places, sent
from pipeline.engine.device import autocast
from pipeline.engine.half_logits import half_figures
from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import completion_states, of_logits
from pipeline.engine.shared_prefix import visible
from pipeline.train.footprint import LOGITS_AT_ONCE
from pipeline.train.rollout import Rollouts


@dataclass(frozen=True)
class Batching:
    """Limits of a micro-batch: prompts with all their completions, and tokens with padding."""

    groups: int
    tokens: int | None


@dataclass(frozen=True)
class Scoring:
    """Settings of scoring.

    Attributes:
        temperature: That of sampling, so that log-probabilities are those of the draws.
        entropy_gradient: Gradients flow through the entropy.
    """

    temperature: float
    precision: str
    entropy_gradient: bool


@dataclass(frozen=True)
class MicroBatch:
    """Some prompts of a batch with their completions, the latter indexed by ``rows``."""

    prompts: tuple[tuple[int, ...], ...]
    completions: tuple[tuple[int, ...], ...]
    rows: slice


@dataclass(frozen=True)
class Scores:
    """Log-probabilities and entropies (nats) of tokens [N, T]; padding holds zeros."""

    logprobs: Tensor
    entropies: Tensor
    mask: Tensor


def micro_batches(rollouts: Rollouts, batching: Batching, chosen: range) -> Iterator[MicroBatch]:
    """Split the chosen prompts into micro-batches, in their order.

    A micro-batch holds at most ``batching.groups`` whole groups and, where it holds several, at
    most ``batching.tokens`` tokens with padding. A larger single group is split into as few parts
    as possible, of at least one completion.
    """
    start = chosen.start
    for stop in range(chosen.start + 1, chosen.stop + 1):
        # Grow [start, stop) by one prompt at a time, and cut before the one that is too much. One
        # prompt alone is never too much: it cannot be cut between prompts.
        if stop - start > 1 and _is_too_much(rollouts, batching, range(start, stop)):
            yield from _parts(rollouts, range(start, stop - 1), batching.tokens)
            start = stop - 1
    yield from _parts(rollouts, range(start, chosen.stop), batching.tokens)


def _is_too_much(rollouts: Rollouts, batching: Batching, chosen: range) -> bool:
    if len(chosen) > batching.groups:
        return True
    return batching.tokens is not None and _tokens(rollouts, chosen) > batching.tokens


def _tokens(rollouts: Rollouts, chosen: range) -> int:
    """Tokens of some groups with padding."""
    group = rollouts.group
    completions = rollouts.completions[chosen.start * group : chosen.stop * group]
    prompt = max(len(row.prompt) for row in rollouts.rows[chosen.start : chosen.stop])
    return len(chosen) * prompt + len(completions) * max(len(c.tokens) for c in completions)


def _parts(rollouts: Rollouts, chosen: range, limit: int | None) -> Iterator[MicroBatch]:
    """Yield whole groups as one micro-batch; a single group that is too long in several."""
    first, last = chosen.start * rollouts.group, chosen.stop * rollouts.group
    size = last - first
    if limit and len(chosen) == 1 and (tokens := _tokens(rollouts, chosen)) > limit:
        # The prompt is encoded once for each part, so it counts once; what is left of the limit
        # holds so many completions of the padded length.
        prompt = len(rollouts.rows[chosen.start].prompt)
        size = max(1, (limit - prompt) // ((tokens - prompt) // rollouts.group))
    prompts = tuple(row.prompt for row in rollouts.rows[chosen.start : chosen.stop])
    for start in range(first, last, size):
        rows = slice(start, min(start + size, last))
        yield MicroBatch(prompts, tuple(c.tokens for c in rollouts.completions[rows]), rows)


def score(model: PreTrainedModel, batch: MicroBatch, scoring: Scoring) -> Scores:
    """Log-probabilities and entropies under the sampling temperature."""

    def wanted(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        if _row_by_row(logits, scoring):
            return half_figures(logits, ids, scoring.temperature)
        log_softmax = _log_softmax(logits, scoring)
        # Without a bonus nothing flows back through the entropy, and its graph holds two [N, V].
        flowing = log_softmax if scoring.entropy_gradient else log_softmax.detach()
        return _chosen(log_softmax, ids), -(flowing.exp() * flowing).sum(-1)

    (logprobs, entropies), mask = _of_tokens(model, batch, scoring.precision, wanted)
    return Scores(logprobs, entropies, mask)


@torch.no_grad()
def fixed_logprobs(model: PreTrainedModel, batch: MicroBatch, scoring: Scoring) -> Tensor:
    """The log-probabilities alone [N, T], without gradient; padding holds zeros."""

    def wanted(logits: Tensor, ids: Tensor) -> tuple[Tensor]:
        if _row_by_row(logits, scoring):
            return half_figures(logits, ids, scoring.temperature)[:1]
        return (_chosen(_log_softmax(logits, scoring), ids),)

    (logprobs,), _ = _of_tokens(model, batch, scoring.precision, wanted)
    return logprobs


def estimate_values(critic: PreTrainedModel, batch: MicroBatch, precision: str) -> Tensor:
    """The critic's value of the state before each token [N, T]; padding holds zeros."""
    (values,), _ = _of_tokens(
        critic, batch, precision, lambda value, _: (value.float().squeeze(-1),)
    )
    return values


def _row_by_row(logits: Tensor, scoring: Scoring) -> bool:
    """Blocks of rows are faster: on a CPU, without a gradient of the entropy."""
    half = logits.dtype == torch.bfloat16 and logits.device.type == "cpu"
    return half and not scoring.entropy_gradient


def _log_softmax(logits: Tensor, scoring: Scoring) -> Tensor:
    logits = logits.float()
    scaled = logits if scoring.temperature == 1 else logits / scoring.temperature
    return torch.log_softmax(scaled, dim=-1)


def _chosen(log_softmax: Tensor, ids: Tensor) -> Tensor:
    """The entry of each row [N, V] at its token [N]."""
    return log_softmax.gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def _of_tokens(
    model: PreTrainedModel,
    batch: MicroBatch,
    precision: str,
    wanted: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Figures of each token, with zeros on padding, and the mask; all [N, T].

    ``wanted``: see :func:`pipeline.engine.logprobs.of_logits`.
    """
    states_of = plain_states if in_one_pass(model, batch) else completion_states
    with autocast(model.device, precision):
        states, ids, mask = states_of(model, batch.prompts, batch.completions)
        real = real_places(batch.completions, model.device)
        states, ids = (each.flatten(0, 1).index_select(0, real) for each in (states, ids))
        figures = of_logits(Halves.of(model).head, states, ids, wanted, LOGITS_AT_ONCE)
    zeros = torch.zeros(mask.numel(), device=mask.device)
    return tuple(zeros.index_copy(0, real, each).view_as(mask) for each in figures), mask


def in_one_pass(model: PreTrainedModel, batch: MicroBatch) -> bool:
    """Each completion runs after its own copy of the prompt, in one pass.

    Gradient checkpointing runs every layer twice, which a key-value cache does not survive. A
    single completion shares nothing; one pass halves an accelerator's launches, which cost more
    than its computation.
    """
    checkpointed = model.is_gradient_checkpointing and model.training
    alone = len(batch.completions) == len(batch.prompts)
    return checkpointed or (alone and model.device.type != "cpu")


def plain_states(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Like ``completion_states``, with a copy of the prompt per completion.

    Padding follows both: left padding would be tokens that see nothing, whose gradients are NaN in
    accelerators' kernels.
    """
    pad = int(model.config.pad_token_id or 0)
    group = len(completions) // len(prompts)
    before = [prompts[row // group] for row in range(len(completions))]
    full, full_mask = pad_right(
        [(*prompt, *own[:-1]) for prompt, own in zip(before, completions, strict=True)],
        pad,
        model.device,
    )
    ids, mask = pad_right(completions, pad, model.device)
    wanted = full.shape[1] - min(map(len, prompts)) + 1  # from the first token that is followed
    states = Halves.of(model).body(
        input_ids=full,
        attention_mask=visible(model, full_mask),
        use_cache=False,
        last=wanted,
    )
    start = sent([len(prompt) - 1 for prompt in before], model.device) - full.shape[1] + wanted
    places = start.unsqueeze(1) + torch.arange(ids.shape[1], device=model.device)
    rows = torch.arange(len(completions), device=model.device).unsqueeze(1)
    return states[rows, places.clamp_max(wanted - 1)], ids, mask


@torch.no_grad()
def whole_batch(parts: Sequence[Tensor]) -> Tensor:
    """Join the rows of micro-batches [N, T] into one [B, T of the longest], padded with zeros."""
    width = max(part.shape[1] for part in parts)
    return torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in parts])
