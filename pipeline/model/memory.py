"""Keys and values that one token of each row attends to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pipeline.model.shared_prefix import Prefix


class Memory(Protocol):
    """What the rows of a batch attend to.

    B = rows, H = key-value heads, D = width of a head.
    """

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend from one token per row to the row's tokens so far, with itself.

        Args:
            layer: Which.
            query: Scaled; R query heads share a key-value head [B, H, R, D].
            key: [B, H, 1, D].
            value: [B, H, 1, D].

        Returns:
            [B, H, R, D].
        """


class OwnMemory:
    """All tokens of each row, from its first on; rows come and go. See :class:`Memory`.

    B = rows, H = key-value heads, W = most tokens of a row, D = width of a head, T = tokens so far
    of the longest row.

    Args:
        rows: B.
        width: W.
    """

    keys: list[Tensor]
    values: list[Tensor]
    used: int
    places: Tensor
    hidden: Tensor

    def __init__(self, rows: int, width: int) -> None:
        self.rows, self.width = rows, width
        self.keys, self.values = [], []

    def take(
        self,
        keys: Sequence[Iterable[Tensor]],
        values: Sequence[Iterable[Tensor]],
        rows: Sequence[int],
        lengths: Sequence[int],
        left: bool,
        first: Sequence[int] | None = None,
    ) -> None:
        """Take prompts in, or parts of prompts.

        Args:
            keys: Of each layer, of each prompt [H, tokens and padding, D].
            values: As ``keys``.
            rows: Where each prompt goes.
            lengths: Tokens of each.
            left: Whether padding stands before the tokens, not after them.
            first: Where in its row each begins; at the row's beginning if absent.
        """
        for held, given in ((self.keys, keys), (self.values, values)):
            for layer, tensors in enumerate(given):
                spans = zip(rows, first or [0] * len(rows), lengths, tensors, strict=True)
                for row, begin, length, tensor in spans:
                    if layer == len(held):
                        held.append(self._room(tensor))
                    skipped = tensor.shape[1] - length if left else 0
                    mine = tensor[:, skipped : skipped + length]
                    held[layer][row, :, begin : begin + length] = mine

    def _room(self, like: Tensor) -> Tensor:
        # Zeros, since what is hidden is multiplied by zero.
        return like.new_zeros(self.rows, like.shape[0], self.width, like.shape[2])

    def keep(self, rows: Sequence[int], used: int) -> list[int]:
        """Forget all other rows; return the rows that are kept in their new order.

        Only those move that stand beyond the new number of rows, each to where one is forgotten:
        copying all would cost as much as several tokens.

        Args:
            rows: Which to keep, in order.
            used: Tokens of the longest of them.
        """
        count = len(rows)
        kept = set(rows)
        free = [row for row in range(count) if row not in kept]
        moved = [row for row in rows if row >= count]
        if moved:
            device = self.keys[0].device
            to, source = (torch.tensor(each, device=device) for each in (free, moved))
            for tensor in (*self.keys, *self.values):
                tensor[:, :, :used].index_copy_(0, to, tensor[source, :, :used])
        self.keys = [tensor[:count] for tensor in self.keys]
        self.values = [tensor[:count] for tensor in self.values]
        standing = dict(zip(free, moved, strict=True))
        return [standing.get(row, row) for row in range(count)]

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
        # Under autocast the rotation leaves a token's key in float32.
        for held, given in ((keys, key), (values, value)):
            held.view(-1, size).index_copy_(0, self.places, given.to(held.dtype).reshape(-1, size))
        return keys[:, :, : self.used], values[:, :, : self.used]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See :class:`Memory`."""
        keys, values = self.add(layer, key, value)
        scores = query @ keys.transpose(-1, -2) + self.hidden
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ values


class SharedMemory:
    """Prompts that several rows share, and the tokens of each row since. See :class:`Memory`.

    Args:
        prefix: The prompts.
        room: Most tokens of a row after its prompt.

    Attributes:
        used: Own tokens that a row attends to, the next one among them.
    """

    def __init__(self, prefix: Prefix, room: int) -> None:
        like, rows = prefix.values[0], len(prefix.places)
        self.prefix = prefix
        shape = (rows, like.shape[1], room, like.shape[3])
        self.keys = [like.new_empty(shape) for _ in prefix.keys]
        self.values = [like.new_empty(shape) for _ in prefix.keys]
        self.used = 0

    def go_to(self, count: int) -> None:
        """Say that each row's next token is its ``count``-th of its own."""
        self.used = count

    def keep(self, rows: Tensor) -> None:
        """Forget all rows but some, by their indices in order."""
        self.prefix = self.prefix.keep(rows)
        for held in (self.keys, self.values):
            for layer, tensor in enumerate(held):
                held[layer] = self._kept(tensor, rows)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See :class:`Memory`."""
        prefix, query = self.prefix, query.to(value.dtype)
        prompt, prompt_value = prefix.keys[layer], prefix.values[layer]
        self._write(layer, key, value)
        own, own_value = (held[layer][:, :, : self.used] for held in (self.keys, self.values))
        # Only one score per token is copied between the layouts by prompt and by row, no key or
        # value.
        to_prompt = prefix.stack(query) @ prompt.transpose(-1, -2)
        if prefix.bias is not None:
            to_prompt = to_prompt + prefix.bias
        to_own = self._shown(query @ own.transpose(-1, -2))
        scores = torch.cat([prefix.unstack(to_prompt), to_own], -1)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
        length = prompt.shape[2]
        found = prefix.unstack(prefix.stack(weights[..., :length]) @ prompt_value)
        return found + weights[..., length:] @ own_value

    def _write(self, layer: int, key: Tensor, value: Tensor) -> None:
        self.keys[layer][:, :, self.used - 1 : self.used] = key
        self.values[layer][:, :, self.used - 1 : self.used] = value

    def _shown(self, scores: Tensor) -> Tensor:
        """Return scores of a row's own places with those hidden that hold no token."""
        return scores

    def _kept(self, tensor: Tensor, rows: Tensor) -> Tensor:
        kept = tensor.new_empty((len(rows), *tensor.shape[1:]))
        kept[:, :, : self.used] = tensor[rows, :, : self.used]
        return kept


class StandingMemory(SharedMemory):
    """A shared memory whose tensors keep place and shape from token to token, for a while.

    A pass can then be recorded and replayed: the device itself knows where a token goes, and a row
    attends to more places than have been written, of which the rest are hidden.

    Args:
        prefix: The prompts.
        room: Most tokens of a row after its prompt.
        place: Where the next token goes [1]; whoever holds it moves it on.
    """

    fewest = 128
    """Places at first; they double whenever they are full."""

    def __init__(self, prefix: Prefix, room: int, place: Tensor) -> None:
        super().__init__(prefix, room)
        self.room, self.place = room, place
        # What is hidden is multiplied by zero, which leaves nothing of a number only.
        for tensor in (*self.keys, *self.values):
            tensor.zero_()

    def go_to(self, count: int) -> None:
        """See :class:`SharedMemory`."""
        while self.used < count:
            self.used = min(max(self.fewest, 2 * self.used), self.room)

    def _write(self, layer: int, key: Tensor, value: Tensor) -> None:
        # Under autocast the rotation leaves a token's key in float32.
        for held, given in ((self.keys[layer], key), (self.values[layer], value)):
            held.index_copy_(2, self.place, given.to(held.dtype))

    def _shown(self, scores: Tensor) -> Tensor:
        places = torch.arange(self.used, device=scores.device)
        return scores.masked_fill(places > self.place, -torch.inf)

    def _kept(self, tensor: Tensor, rows: Tensor) -> Tensor:
        return tensor.index_select(0, rows)
