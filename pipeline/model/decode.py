"""Decoding: one prefill per prompt, held once for all its completions; finished rows dropped.

The random numbers that a completion consumes come from its own stream, so a completion does not
depend on which others share its batch (up to rounding).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from pipeline.model.sampling import Sampling
from pipeline.model.shared_prefix import attending, encode_prompts

# Rows are dropped from the batch once this share of it has finished: copying the cache for every
# single row would cost more than it saves.
_DROP_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled completion; ``tokens`` end with the end-of-sequence token if ``finished``."""

    tokens: tuple[int, ...]
    finished: bool


class _PreallocatedLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer that writes into a buffer of the final size instead of concatenating.

    Its length is counted on the layer: the buffer's own shape says how much there is room for.
    """

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.is_initialized = False
        self.length = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        start, self.length = self.length, self.length + key_states.shape[-2]
        if not self.is_initialized:
            rows, heads, _, size = key_states.shape
            self.keys = key_states.new_empty(rows, heads, self.room, size)
            self.values = value_states.new_empty(rows, heads, self.room, size)
            self.is_initialized = True
        assert self.keys is not None and self.values is not None
        self.keys[:, :, start : self.length] = key_states
        self.values[:, :, start : self.length] = value_states
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def get_seq_length(self) -> int:
        return self.length


def uniform_stream(key: Sequence[int], count: int) -> np.ndarray:
    """Return ``count`` uniform numbers in [0, 1) that depend on ``key`` alone."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(key)))).random(count)


@torch.inference_mode()
def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]],
    sampling: Sampling,
    end: int,
) -> list[Completion]:
    """Sample completions.

    Args:
        model: A causal language model.
        prompts: P token sequences, none empty.
        keys: P * G random-stream keys, those of prompt p at p * G ... p * G + G - 1.
        sampling: How tokens are chosen.
        end: The end-of-sequence token.

    Returns:
        P * G completions in the order of ``keys``.
    """
    group = len(keys) // len(prompts)
    steps = sampling.max_new_tokens
    logits, position, prefix = encode_prompts(model, prompts, group)
    # All draws at once: which ones a completion takes does not depend on who is left in the batch.
    uniform = np.stack([uniform_stream(key, steps) for key in keys])
    draws = torch.from_numpy(uniform).to(model.device)

    cache = Cache(layers=[_PreallocatedLayer(steps) for _ in prefix.keys])
    tokens = torch.zeros(len(keys), steps, dtype=torch.long, device=model.device)
    rows = torch.arange(len(keys), device=model.device)  # the completion each batch row belongs to
    alive = torch.ones(len(keys), dtype=torch.bool, device=model.device)
    lengths = torch.zeros(len(keys), dtype=torch.long, device=model.device)
    with attending(model):
        # The prompts' own logits choose the first token; each pass then chooses one more.
        for step in range(steps):
            chosen = choose(logits, sampling, draws[rows, step])
            tokens[rows[alive], step] = chosen[alive]
            lengths[rows[alive]] += 1
            alive = alive & (chosen != end)
            living = int(alive.sum())
            if living == 0 or step == steps - 1:
                break
            # Between two drops, finished rows are computed along and their tokens not written.
            if living <= (1 - _DROP_SHARE) * len(rows):
                keep = alive.nonzero().squeeze(-1)
                if step:  # before the first pass the cache is empty
                    cache.batch_select_indices(keep)
                prefix, rows, alive = prefix.keep(keep), rows[keep], alive[keep]
                chosen, position = chosen[keep], position[keep]
            logits = model(
                input_ids=chosen.unsqueeze(1),
                position_ids=position + step,
                past_key_values=cache,
                use_cache=True,
                prefix=prefix,
            ).logits[:, -1]
    return [
        Completion(tuple(row[:length]), row[length - 1] == end)
        for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)
    ]


def choose(logits: Tensor, sampling: Sampling, draws: Tensor) -> Tensor:
    """Return one token for each row [N, V] by inverting the distribution at ``draws`` [N]."""
    if sampling.temperature == 0:
        return logits.argmax(-1)
    probabilities = torch.softmax(logits.float() / sampling.temperature, dim=-1)
    if sampling.top_p < 1:
        ordered, order = probabilities.sort(dim=-1, descending=True)
        outside = ordered.cumsum(-1) - ordered >= sampling.top_p
        probabilities = probabilities.masked_fill(outside.gather(-1, order.argsort(-1)), 0)
    # In float32 the steps of unlikely tokens would vanish in the sum of those before them.
    ladder = probabilities.double().cumsum(-1)
    target = draws.unsqueeze(-1) * ladder[:, -1:]
    return (
        torch.searchsorted(ladder, target, right=True).squeeze(-1).clamp_max(logits.shape[-1] - 1)
    )
