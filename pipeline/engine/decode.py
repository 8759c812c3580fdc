"""Decoding with one prefill per prompt, shared by its completions.

Each completion has its own random stream, so it does not depend on which others share its batch (up
to rounding).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import PreTrainedModel

from pipeline.engine.batch import sent
from pipeline.engine.key_values import SharedKeyValues, StandingKeyValues
from pipeline.engine.passes import Passes, announce
from pipeline.engine.recording import Recording, Repeated, can_record
from pipeline.engine.sampling import Sampling
from pipeline.engine.shared_prefix import Prefix
from pipeline.engine.written_out import passes_of

# Rows are dropped from the batch once this share of it has finished: copying the cache for every
# single row would cost more than it saves. On an accelerator a pass is recorded anew then.
_DROP_SHARE, _DROP_SELDOM = 0.25, 0.5

# After how many tokens to look for rows that have finished, on an accelerator: it is some tokens
# behind what it has been told, and must be waited for.
_LOOK_SELDOM = 16


# In larger vocabularies, sums of blocks are searched first: a running sum in double precision over
# all tokens takes longer than everything else about choosing one.
_SUMMED_AT_ONCE, _BLOCK = 4096, 256


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled completion; ``tokens`` end with one that ends a text if ``finished``."""

    tokens: tuple[int, ...]
    finished: bool


def uniform_stream(key: Sequence[int], count: int) -> np.ndarray:
    """``count`` uniform numbers in [0, 1) that depend on ``key`` alone."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(key)))).random(count)


@torch.inference_mode()
def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]],
    sampling: Sampling,
    stops: Collection[int],
    recording: Recording | None = None,
) -> list[Completion]:
    """Sample completions.

    Args:
        prompts: P token sequences, none empty.
        keys: P * G random-stream keys, prompt by prompt.
        stops: Tokens that end a completion.
        recording: Recorder of an accelerator's passes, kept by repeated callers.

    Returns:
        P * G completions in the order of ``keys``.
    """
    group, device = len(keys) // len(prompts), model.device
    passes, ends = passes_of(model), [len(prompt) for prompt in prompts]
    found = passes.encode(prompts)
    # All draws at once: which ones a completion takes does not depend on who is left in the batch.
    draws = np.stack([uniform_stream(key, sampling.max_new_tokens) for key in keys])
    rows = CompletionRows(
        passes,
        found.prefix(ends, group),
        sent(ends, device).repeat_interleave(group),
        sent(draws, device),
        sampling,
        stops,
        standing=can_record(device),
    )
    rows.write(found.logits.repeat_interleave(group, 0))
    _write_on(rows, model.base_model, recording or Recording())
    return rows.completions()


def _write_on(rows: CompletionRows, layers: nn.Module, recording: Recording) -> None:
    look_every, share = (_LOOK_SELDOM, _DROP_SELDOM) if rows.standing else (1, _DROP_SHARE)
    go_on = Repeated(rows.go_on, recording)
    for step in range(1, rows.steps):
        if step % look_every == 0:
            living = rows.living()
            if living == 0:
                return
            # Between two drops, finished rows are computed along and their tokens not written.
            if living <= (1 - share) * rows.count:
                rows.drop()
        rows.memory.go_to(step)
        if not rows.standing:
            rows.go_on()
            continue
        if step % look_every == 0:
            announce(layers)  # what is replayed calls nothing on the host
        go_on(rows.shape())


class CompletionRows:
    """Completions in progress, one per row.

    Tensors change in place and the current position lives on the device, so that writing a token
    can be recorded and replayed.

    N = completions, B = remaining rows, T = maximum tokens of a completion.

    Args:
        ends: Tokens of each row's prompt [N].
        draws: Random numbers of each row [N, T].
        standing: Keep tensors at their addresses from token to token.
    """

    def __init__(
        self,
        passes: Passes,
        prefix: Prefix,
        ends: Tensor,
        draws: Tensor,
        sampling: Sampling,
        stops: Collection[int],
        *,
        standing: bool,
    ) -> None:
        self.passes, self.sampling, self.stops, self.standing = passes, sampling, stops, standing
        self.draws, device = draws, draws.device
        self._stops = torch.tensor(list(stops), dtype=torch.long, device=device)
        count, self.steps = draws.shape
        self.tokens = torch.zeros(count, self.steps, dtype=torch.long, device=device)
        self.lengths = torch.zeros(count, dtype=torch.long, device=device)
        self.written = torch.zeros(1, dtype=torch.long, device=device)  # tokens, of each row
        self.place = self.written - 1  # of the token written last
        self.rows = torch.arange(count, device=device)  # the completion each row belongs to
        self.alive = torch.ones(count, dtype=torch.bool, device=device)
        self.last = torch.zeros(count, dtype=torch.long, device=device)  # the token written last
        self.position = ends - 1  # of the last token of the row
        self.memory = (
            StandingKeyValues(prefix, self.steps, self.place)
            if standing
            else SharedKeyValues(prefix, self.steps)
        )

    @property
    def count(self) -> int:
        return len(self.rows)

    def shape(self) -> tuple[int, int]:
        return self.count, self.memory.width

    def go_on(self) -> None:
        self.write(self.passes.step(self.last, self.position, self.memory))

    def write(self, logits: Tensor) -> None:
        """Write the next tokens from logits [B, V]; finished rows are computed along."""
        chosen = choose(logits, self.sampling, self.draws[self.rows, self.written])
        self.tokens[self.rows, self.written] = chosen * self.alive
        self.lengths[self.rows] += self.alive
        self.alive &= (chosen.unsqueeze(-1) != self._stops).all(-1)
        self.last.copy_(chosen)
        for counter in (self.position, self.written, self.place):
            counter += 1

    def living(self) -> int:
        """Number of unfinished rows; waits for the device."""
        return int(self.alive.sum())

    def drop(self) -> None:
        keep = self.alive.nonzero().squeeze(-1)
        self.memory.keep(keep)
        for name in ("rows", "alive", "last", "position"):
            setattr(self, name, getattr(self, name)[keep])

    def completions(self) -> list[Completion]:
        return [
            Completion(tuple(row[:length]), row[length - 1] in self.stops)
            for row, length in zip(self.tokens.tolist(), self.lengths.tolist(), strict=True)
        ]


def choose(logits: Tensor, sampling: Sampling, draws: Tensor) -> Tensor:
    """One token for each row [N, V] by inverting the distribution at ``draws`` [N]."""
    if sampling.temperature == 0:
        return logits.argmax(-1)
    scaled = logits.float()
    if sampling.temperature != 1:
        scaled = scaled / sampling.temperature
    probabilities = torch.softmax(scaled, dim=-1)
    if sampling.top_p < 1:
        ordered, order = probabilities.sort(dim=-1, descending=True)
        outside = ordered.cumsum(-1) - ordered >= sampling.top_p
        probabilities = probabilities.masked_fill(outside.gather(-1, order.argsort(-1)), 0)
    return _inverted(probabilities, draws.unsqueeze(-1))


def _inverted(weights: Tensor, draws: Tensor) -> Tensor:
    """First index at which cumulative weights [N, V] exceed shares ``draws`` [N, 1] of the total
    [N].
    """
    count = weights.shape[-1]
    if count <= _SUMMED_AT_ONCE:
        return _exceeding(weights, draws)[0].squeeze(-1)
    if rest := -count % _BLOCK:
        weights = pad(weights, (0, rest))
    blocks = weights.unflatten(-1, (-1, _BLOCK))
    block, share = _exceeding(blocks.sum(-1), draws)
    inside = blocks.take_along_dim(block.unsqueeze(-1), 1).squeeze(1)
    return (block * _BLOCK + _exceeding(inside, share)[0]).squeeze(-1)


def _exceeding(weights: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
    """The first index whose cumulative weight exceeds a share, and the share left within it.

    Its weight is above zero whatever the rounding.
    """
    # In float32 the steps of unlikely tokens would vanish in the sum of those before them.
    ladder = weights.double().cumsum(-1)
    most = ladder[:, -1:] * (1 - torch.finfo(torch.float64).eps)
    target = (draws * ladder[:, -1:]).minimum(most)
    place = torch.searchsorted(ladder, target, right=True)
    own = weights.gather(-1, place).double()
    return place, ((target - (ladder.gather(-1, place) - own)) / own).clamp(0, 1)
