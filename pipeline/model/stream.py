"""Decoding of many prompts in few places: where a completion ends, the next prompt enters.

A batch that waits for its longest completion computes mostly for those that have ended. Here all
places are at work until no prompt waits; then the batch shrinks with what is left of it.

Source: iteration-level scheduling of Yu et al. 2022, "Orca: A Distributed Serving System for
Transformer-Based Generative Models", section 3.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.model.decode import Completion, Sampling, choose, uniform_stream
from pipeline.model.shared_prefix import Prefix, attending, by_key_head, encode_prompts

# Prompts enter once this share of the places is free, and the batch shrinks once it is and none
# waits: encoding one prompt, or copying the batch, for every single place would cost more.
_FREE_SHARE = 0.25

# Of more prompts, what a layer makes fits into no processor's cache.
_ENCODED_AT_ONCE = 64

Hear = Callable[[int, Completion], None]


@torch.inference_mode()
def complete(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]],
    sampling: Sampling,
    end: int,
    places: int,
    hear: Hear,
) -> None:
    """Complete every prompt once.

    The random numbers of a completion come from its own stream, so it does not depend on which
    others are beside it (up to rounding).

    Args:
        model: A causal language model.
        prompts: Token sequences, none empty; they enter in this order.
        keys: The random-stream key of each.
        sampling: How tokens are chosen.
        end: The end-of-sequence token.
        places: Completions that are written at a time.
        hear: Hears of each completion as it ends, with the place of its prompt among ``prompts``.
    """
    if prompts:
        _Batch(model, prompts, keys, sampling, end, min(places, len(prompts)), hear).run()


@dataclass(slots=True)
class _Row:
    """A completion that is being written; ``draws`` are its random numbers, if it needs any."""

    prompt: int
    draws: np.ndarray | None
    tokens: list[int] = field(default_factory=list)

    def draw(self) -> float:
        return 0.0 if self.draws is None else float(self.draws[len(self.tokens)])


class _Batch:
    """The places, what is written in them, and the prompts that wait.

    B = places, H = key-value heads, W = tokens of the longest prompt and completion, D = width of
    a head, T = tokens so far of the longest row.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[Sequence[int]],
        sampling: Sampling,
        end: int,
        places: int,
        hear: Hear,
    ) -> None:
        self.model, self.prompts, self.random = model, prompts, keys
        self.sampling, self.end, self.hear = sampling, end, hear
        self.waiting = deque(range(len(prompts)))
        self.rows: list[_Row | None] = [None] * places
        # Tokens of each row whose keys are held; 0 where a place is free.
        self.lengths = [0] * places
        self.next = [0] * places  # the token that each row goes on with
        self.memory: Memory | None = None

    def run(self) -> None:
        while self.waiting or any(self.rows):
            if self.waiting:
                self._enter()
            elif self.memory is not None:
                self._shrink()
            with attending(self.model, _attend):
                while any(self.rows) and not self._is_time():
                    self._step()

    def _is_time(self) -> bool:
        """Return whether prompts should enter, or the batch shrink."""
        return self.rows.count(None) >= max(1, _FREE_SHARE * len(self.rows))

    def _enter(self) -> None:
        free = [place for place, row in enumerate(self.rows) if row is None]
        for start in range(0, len(free), _ENCODED_AT_ONCE):
            places = free[start : start + _ENCODED_AT_ONCE]
            entering = [self.waiting.popleft() for _ in places[: len(self.waiting)]]
            if not entering:
                return
            logits, _, prefix = encode_prompts(self.model, [self.prompts[i] for i in entering], 1)
            if self.memory is None:
                width = max(map(len, self.prompts)) + self.sampling.max_new_tokens
                self.memory = Memory.like(prefix, len(self.rows), width)
            places = places[: len(entering)]
            for place, prompt in zip(places, entering, strict=True):
                self.rows[place] = _Row(prompt, self._draws(prompt))
                self.lengths[place] = len(self.prompts[prompt])
            self.memory.take(prefix, places, [self.lengths[place] for place in places])
            self._write(places, logits)

    def _draws(self, prompt: int) -> np.ndarray | None:
        if self.sampling.temperature == 0:
            return None
        return uniform_stream(self.random[prompt], self.sampling.max_new_tokens)

    def _step(self) -> None:
        assert self.memory is not None
        device = self.model.device
        held = torch.tensor(self.lengths, device=device)
        self.memory.go_to(held, max(self.lengths) + 1)
        logits = self.model(
            input_ids=torch.tensor(self.next, device=device).unsqueeze(1),
            position_ids=held.unsqueeze(1),
            use_cache=False,
            memory=self.memory,
        ).logits[:, -1]
        self.lengths = [n + 1 if row else 0 for n, row in zip(self.lengths, self.rows, strict=True)]
        self._write(range(len(self.rows)), logits)

    def _write(self, places: Sequence[int], logits: Tensor) -> None:
        """Choose the next token in some places, from logits [places, V]."""
        rows = [self.rows[place] for place in places]
        draws = torch.tensor([row.draw() if row else 0.0 for row in rows], dtype=torch.float64)
        chosen = choose(logits, self.sampling, draws.to(logits.device)).tolist()
        for place, row, token in zip(places, rows, chosen, strict=True):
            if row is None:
                continue
            row.tokens.append(token)
            self.next[place] = token
            if token == self.end or len(row.tokens) == self.sampling.max_new_tokens:
                self.rows[place], self.lengths[place] = None, 0
                self.hear(row.prompt, Completion(tuple(row.tokens), token == self.end))

    def _shrink(self) -> None:
        assert self.memory is not None
        kept = [place for place, row in enumerate(self.rows) if row is not None]
        self.memory.keep(torch.tensor(kept, device=self.model.device))
        self.rows = [self.rows[place] for place in kept]
        self.lengths = [self.lengths[place] for place in kept]
        self.next = [self.next[place] for place in kept]


class Memory:
    """Keys and values of the rows of a batch, of each layer [B, H, W, D], from a row's start on."""

    def __init__(self, keys: list[Tensor], values: list[Tensor]) -> None:
        self.keys, self.values = keys, values
        self.used = 0
        self.places = self.hidden = keys[0]

    @classmethod
    def like(cls, prefix: Prefix, rows: int, width: int) -> Memory:
        """Return memory for so many rows; zeros, since what is hidden is multiplied by zero."""

        def empty(tensors: Sequence[Tensor]) -> list[Tensor]:
            return [t.new_zeros(rows, t.shape[1], width, t.shape[3]) for t in tensors]

        return cls(empty(prefix.keys), empty(prefix.values))

    def take(self, prefix: Prefix, rows: Sequence[int], lengths: Sequence[int]) -> None:
        """Take prompts in, whose padding stands before them."""
        for held, given in ((self.keys, prefix.keys), (self.values, prefix.values)):
            for to, tensors in zip(held, given, strict=True):
                for row, length, tensor in zip(rows, lengths, tensors, strict=True):
                    to[row, :, :length] = tensor[:, -length:]

    def keep(self, rows: Tensor) -> None:
        """Forget all other rows."""
        self.keys = [tensor[rows] for tensor in self.keys]
        self.values = [tensor[rows] for tensor in self.values]

    def go_to(self, lengths: Tensor, used: int) -> None:
        """Say where the next token of each row goes [B], and how many the longest has then."""
        rows, heads, width, _ = self.keys[0].shape
        first = torch.arange(rows * heads, device=lengths.device).view(rows, heads) * width
        self.places = (first + lengths.unsqueeze(1)).flatten()
        beyond = torch.arange(used, device=lengths.device) > lengths.unsqueeze(1)
        bias = torch.zeros(beyond.shape, dtype=self.keys[0].dtype, device=lengths.device)
        self.hidden, self.used = bias.masked_fill_(beyond, -torch.inf)[:, None, None], used

    def add(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write a token's key and value [B, H, 1, D]; return all so far [B, H, T, D]."""
        size = key.shape[-1]
        keys, values = self.keys[layer], self.values[layer]
        keys.view(-1, size).index_copy_(0, self.places, key.reshape(-1, size))
        values.view(-1, size).index_copy_(0, self.places, value.reshape(-1, size))
        return keys[:, :, : self.used], values[:, :, : self.used]


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    memory: Memory,
    **_: object,
) -> tuple[Tensor, None]:
    """Attend from one token per row [B, heads, 1, D] to the row's tokens so far."""
    keys, values = memory.add(int(module.layer_idx), key, value)  # type: ignore[arg-type]
    scores = by_key_head(query * scaling, keys.shape[1]) @ keys.transpose(-1, -2)
    weights = torch.softmax(scores + memory.hidden, dim=-1, dtype=torch.float32).to(value.dtype)
    output = (weights @ values).reshape_as(query)
    return output.transpose(1, 2).contiguous(), None
