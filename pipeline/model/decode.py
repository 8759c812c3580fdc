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
from transformers import PreTrainedModel

from pipeline.model.memory import SharedMemory
from pipeline.model.sampling import Sampling
from pipeline.model.written_out import passes_of

# Rows are dropped from the batch once this share of it has finished: copying the cache for every
# single row would cost more than it saves.
_DROP_SHARE = 0.25

# After how many tokens to look for rows that have finished. An accelerator must be waited for then:
# it is some tokens behind what it has been told.
_LOOK_EVERY = {"cpu": 1}
_LOOK_SELDOM = 16


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled completion; ``tokens`` end with the end-of-sequence token if ``finished``."""

    tokens: tuple[int, ...]
    finished: bool


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
    group, steps = len(keys) // len(prompts), sampling.max_new_tokens
    passes, device = passes_of(model), model.device
    found, ends = passes.encode(prompts), [len(prompt) for prompt in prompts]
    memory = SharedMemory(found.prefix(ends, group), steps)
    logits = found.logits.repeat_interleave(group, 0)
    position = torch.tensor(ends, device=device).repeat_interleave(group)
    # All draws at once: which ones a completion takes does not depend on who is left in the batch.
    draws = torch.from_numpy(np.stack([uniform_stream(key, steps) for key in keys])).to(device)

    tokens = torch.zeros(len(keys), steps, dtype=torch.long, device=device)
    lengths = torch.zeros(len(keys), dtype=torch.long, device=device)
    rows = torch.arange(len(keys), device=device)  # the completion each batch row belongs to
    alive = torch.ones(len(keys), dtype=torch.bool, device=device)
    look_every = _LOOK_EVERY.get(device.type, _LOOK_SELDOM)
    # The prompts' own logits choose the first token; each pass then chooses one more.
    for step in range(steps):
        chosen = choose(logits, sampling, draws[rows, step])
        tokens[rows, step] = chosen * alive
        lengths[rows] += alive
        alive = alive & (chosen != end)
        if step == steps - 1:
            break
        if (step + 1) % look_every == 0:
            living = int(alive.sum())
            if living == 0:
                break
            # Between two drops, finished rows are computed along and their tokens not written.
            if living <= (1 - _DROP_SHARE) * len(rows):
                keep = alive.nonzero().squeeze(-1)
                memory.keep(keep)
                rows, alive, chosen, position = (t[keep] for t in (rows, alive, chosen, position))
        memory.go_on()
        logits = passes.step(chosen, position + step, memory)
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
