"""Continuous batching: where a completion ends, the next prompt enters.

A batch that waits for its longest completion mostly computes finished rows. Here all slots work
until no prompt waits; then the batch shrinks.

Source: iteration-level scheduling of Yu et al. 2022, "Orca: A Distributed Serving System for
Transformer-Based Generative Models", section 3.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine.decode import Completion, choose, uniform_stream
from pipeline.engine.key_values import OwnKeyValues
from pipeline.engine.sampling import Sampling
from pipeline.engine.siblings import Encoder
from pipeline.engine.written_out import passes_of

# Prompts enter once this share of the places is free, and the batch shrinks once it is and none
# waits: encoding one prompt, or copying the batch, for every single place would cost more; and more
# than that on an accelerator, which must be waited for.
_FREE_SHARE, _FREE_SELDOM = 0.125, 0.25

# Of more prompts, what a layer makes fits into no processor's cache.
_ENCODED_AT_ONCE = 16

Hear = Callable[[int, Completion], None]


@torch.inference_mode()
def complete(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]],
    sampling: Sampling,
    stops: Collection[int],
    places: int,
    hear: Hear,
) -> None:
    """Complete every prompt once.

    Each completion has its own random stream, so it does not depend on its neighbours (up to
    rounding).

    Args:
        prompts: Token sequences, none empty; they enter in order, but with siblings together.
        stops: Tokens that end a completion.
        hear: Receives each completion as it ends, with the index of its prompt.
    """
    if prompts:
        _Batch(model, prompts, keys, sampling, stops, min(places, len(prompts)), hear).run()


@dataclass(slots=True)
class _Row:
    """A completion in progress; ``draws`` are its random numbers, if it needs any."""

    prompt: int
    draws: np.ndarray | None
    tokens: list[int] = field(default_factory=list)

    def draw(self) -> float:
        return 0.0 if self.draws is None else float(self.draws[len(self.tokens)])


class _Batch:
    """The slots, their rows, and the prompts that wait."""

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[Sequence[int]],
        sampling: Sampling,
        stops: Collection[int],
        places: int,
        hear: Hear,
    ) -> None:
        self.passes, self.device = passes_of(model), model.device
        self.prompts, self.random = prompts, keys
        self.sampling, self.stops, self.hear = sampling, stops, hear
        self.encoder = Encoder(self.passes, prompts)
        self.waiting = deque(self.encoder.order)
        self.rows: list[_Row | None] = [None] * places
        # Tokens of each row whose keys are held; 0 where a place is free.
        self.lengths = [0] * places
        self.next = [0] * places  # the token that each row goes on with
        most = max(map(len, prompts)) + sampling.max_new_tokens
        self.memory = OwnKeyValues(places, most, grows=self.device.type == "cpu")

    def run(self) -> None:
        while self.waiting or any(self.rows):
            if self.waiting:
                self._enter()
            else:
                self._shrink()
            while any(self.rows) and not self._is_time():
                self._step()

    def _is_time(self) -> bool:
        """Prompts should enter, or the batch shrink."""
        share = _FREE_SHARE if self.device.type == "cpu" else _FREE_SELDOM
        return self.rows.count(None) >= max(1, share * len(self.rows))

    def _enter(self) -> None:
        free = [place for place, row in enumerate(self.rows) if row is None]
        for start in range(0, len(free), _ENCODED_AT_ONCE):
            places = free[start : start + _ENCODED_AT_ONCE]
            entering = [self.waiting.popleft() for _ in places[: len(self.waiting)]]
            if not entering:
                return
            places = places[: len(entering)]
            logits = self.encoder.encode(entering, places, self.memory)
            for place, prompt in zip(places, entering, strict=True):
                self.rows[place] = _Row(prompt, self._draws(prompt))
                self.lengths[place] = len(self.prompts[prompt])
            self._write(places, logits)

    def _draws(self, prompt: int) -> np.ndarray | None:
        if self.sampling.temperature == 0:
            return None
        return uniform_stream(self.random[prompt], self.sampling.max_new_tokens)

    def _step(self) -> None:
        held = torch.tensor(self.lengths, device=self.device)
        self.memory.go_to(held, max(self.lengths) + 1)
        tokens = torch.tensor(self.next, device=self.device)
        logits = self.passes.step(tokens, held, self.memory)
        self.lengths = [n + 1 if row else 0 for n, row in zip(self.lengths, self.rows, strict=True)]
        self._write(range(len(self.rows)), logits)

    def _write(self, places: Sequence[int], logits: Tensor) -> None:
        """Sample the next token in some slots, from logits [places, V]."""
        rows = [self.rows[place] for place in places]
        draws = logits.new_zeros(len(rows), dtype=torch.float64)
        if self.sampling.temperature:
            draws = torch.tensor([row.draw() if row else 0.0 for row in rows], dtype=torch.float64)
        chosen = choose(logits, self.sampling, draws.to(logits.device)).tolist()
        stops, most = self.stops, self.sampling.max_new_tokens
        for place, row, token in zip(places, rows, chosen, strict=True):
            if row is None:
                continue
            tokens = row.tokens
            tokens.append(token)
            self.next[place] = token
            if token in stops or len(tokens) == most:
                self.rows[place], self.lengths[place] = None, 0
                self.hear(row.prompt, Completion(tuple(tokens), token in stops))

    def _shrink(self) -> None:
        left = [place for place, row in enumerate(self.rows) if row is not None]
        kept = self.memory.keep(left, max(self.lengths))
        self.rows = [self.rows[place] for place in kept]
        self.lengths = [self.lengths[place] for place in kept]
        self.next = [self.next[place] for place in kept]
