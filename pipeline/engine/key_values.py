"""Key-value caches for decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pipeline.engine.shared_prefix import Prefix


class KeyValues(Protocol):
    """The cache of a batch: B = rows, H = key-value heads, D = width of a head."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend from one token per row to the row's tokens so far, itself included.

        Args:
            layer: Index.
            query: Scaled; R query heads share a key-value head [B, H, R, D].
            key: [B, H, 1, D].
            value: [B, H, 1, D].

        Returns:
            [B, H, R, D].
        """


_STEP = 16
"""Minimum growth of rows, in positions."""


def _room_for(used: int) -> int:
    """Capacity of a row for so many tokens, on a CPU.

    Products read contiguous keys up to twice as fast as a prefix of a larger tensor, so capacity
    grows with the rows; positions without a token are masked. On an accelerator rows have full
    capacity from the start, as growth would fragment its allocator.
    """
    return (used + max(_STEP, used // 8)) // _STEP * _STEP


def _give_room(held: list[Tensor], places: int) -> None:
    """Resize the keys or values of each layer [B, H, T, D], keeping the first positions."""
    for layer, tensor in enumerate(held):
        rows, heads, had, size = tensor.shape
        # Zeros, since what is hidden is multiplied by zero.
        more = tensor.new_zeros(rows, heads, max(places - had, 0), size)
        held[layer] = torch.cat([tensor[:, :, :places], more], 2)


class OwnKeyValues:
    """All tokens of each row, from its first on; rows come and go. See :class:`KeyValues`.

    B = rows, H = key-value heads, W = capacity of a row, D = width of a head, T = attended
    positions.

    Args:
        rows: B.
        most: Tokens of the longest row that will come.
        grows: Capacity grows with the rows, see :func:`_room_for`.
    """

    keys: list[Tensor]
    values: list[Tensor]
    places: Tensor
    hidden: Tensor

    def __init__(self, rows: int, most: int, *, grows: bool) -> None:
        self.rows, self.most, self.grows = rows, most, grows
        self.width = self.shown = 0
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
        """Store keys and values of prompts, or parts of prompts.

        Args:
            keys: Per layer and prompt [H, tokens and padding, D].
            rows: Row of each prompt.
            lengths: Tokens of each.
            left: Padding precedes the tokens.
            first: Position of each in its row; 0 by default.
        """
        begun = first or [0] * len(rows)
        used = max(map(sum, zip(begun, lengths, strict=True)))
        if used > self.width:
            self._give_room(used)
        for held, given in ((self.keys, keys), (self.values, values)):
            for layer, tensors in enumerate(given):
                spans = zip(rows, begun, lengths, tensors, strict=True)
                for row, begin, length, tensor in spans:
                    if layer == len(held):
                        held.append(self._empty(tensor))
                    skipped = tensor.shape[1] - length if left else 0
                    mine = tensor[:, skipped : skipped + length]
                    held[layer][row, :, begin : begin + length] = mine

    def _empty(self, like: Tensor) -> Tensor:
        return like.new_zeros(self.rows, like.shape[0], self.width, like.shape[2])

    def _give_room(self, used: int) -> None:
        self.width = _room_for(used) if self.grows else self.most
        for held in (self.keys, self.values):
            _give_room(held, self.width)

    def keep(self, rows: Sequence[int], used: int) -> list[int]:
        """Drop all other rows; return the kept ones in their new order.

        Only rows beyond the new count move, each into a freed one: copying all would cost as much
        as several tokens.
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
        """Set the position of each row's next token [B], and the new length of the longest."""
        # Where long rows were, short ones would be read with twice as much that is hidden.
        if used > self.width or (self.grows and _room_for(used) * 2 <= self.width):
            self._give_room(used)
        self.shown = self.width if self.grows else used
        rows, heads, width, _ = self.keys[0].shape
        first = torch.arange(rows * heads, device=lengths.device).view(rows, heads) * width
        self.places = (first + lengths.unsqueeze(1)).flatten()
        beyond = torch.arange(self.shown, device=lengths.device) > lengths.unsqueeze(1)
        bias = torch.zeros(beyond.shape, dtype=self.keys[0].dtype, device=lengths.device)
        self.hidden = bias.masked_fill_(beyond, -torch.inf)[:, None, None]

    def add(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store a token's key and value [B, H, 1, D]; return the attended ones [B, H, T, D].

        Positions without a token hold zeros or a longer row's leftovers.
        """
        size = key.shape[-1]
        keys, values = self.keys[layer], self.values[layer]
        # Under autocast the rotation leaves a token's key in float32.
        for held, given in ((keys, key), (values, value)):
            held.view(-1, size).index_copy_(0, self.places, given.to(held.dtype).reshape(-1, size))
        return keys[:, :, : self.shown], values[:, :, : self.shown]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys, values = self.add(layer, key, value)
        scores = query @ keys.transpose(-1, -2) + self.hidden
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ values


class SharedKeyValues:
    """Prompts shared by several rows, and own tokens of each, at most ``room``.

    Attributes:
        count: Own tokens that a row attends to, the next one included.
        width: Attended positions, masked where they hold no token.
    """

    def __init__(self, prefix: Prefix, room: int) -> None:
        like, rows = prefix.values[0], len(prefix.places)
        self.prefix, self.room, self.count, self.width = prefix, room, 0, 0
        empty = like.new_empty(rows, like.shape[1], 0, like.shape[3])
        self.keys = [empty] * len(prefix.keys)
        self.values = [empty] * len(prefix.keys)

    def go_to(self, count: int) -> None:
        """Set the index of each row's next own token, from 1."""
        self.count = count
        if count > self.width:
            self.width = min(_room_for(count), self.room)
            for held in (self.keys, self.values):
                _give_room(held, self.width)

    def keep(self, rows: Tensor) -> None:
        """Keep these rows only, by index in order."""
        self.prefix = self.prefix.keep(rows)
        for held in (self.keys, self.values):
            for layer, tensor in enumerate(held):
                held[layer] = tensor.index_select(0, rows)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        prefix, query = self.prefix, query.to(value.dtype)
        prompt, prompt_value = prefix.keys[layer], prefix.values[layer]
        own, own_value = (held[layer][:, :, : self.width] for held in (self.keys, self.values))
        for held, given in ((own, key), (own_value, value)):
            self._write(held, given)
        # What is copied between the layouts by prompt and by row is a number per own token.
        to_prompt = prefix.stack(query) @ prompt.transpose(-1, -2)
        if prefix.bias is not None:
            to_prompt = to_prompt + prefix.bias
        to_own = self._shown(query @ own.transpose(-1, -2))
        scores = torch.cat([to_prompt, prefix.stack(to_own)], -1)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
        length = prompt.shape[2]
        found = prefix.unstack(weights[..., :length] @ prompt_value)
        return found + prefix.unstack(weights[..., length:]) @ own_value

    def _write(self, held: Tensor, given: Tensor) -> None:
        held[:, :, self.count - 1 : self.count] = given

    def _shown(self, scores: Tensor) -> Tensor:
        """Mask scores of own positions without a token."""
        scores[..., self.count :] = -torch.inf
        return scores


class StandingKeyValues(SharedKeyValues):
    """A shared cache whose tensors keep address and shape until they are full.

    A pass can then be recorded and replayed: the position of the next token, ``place`` [1], is on
    the device, advanced by its owner.
    """

    fewest = 128
    """Initial positions; they double whenever they are full."""

    def __init__(self, prefix: Prefix, room: int, place: Tensor) -> None:
        super().__init__(prefix, room)
        self.place = place
        for held in (self.keys, self.values):
            _give_room(held, room)

    def go_to(self, count: int) -> None:
        self.count = count
        while self.width < count:
            self.width = min(max(self.fewest, 2 * self.width), self.room)

    def _write(self, held: Tensor, given: Tensor) -> None:
        # Under autocast the rotation leaves a token's key in float32.
        held.index_copy_(2, self.place, given.to(held.dtype))

    def _shown(self, scores: Tensor) -> Tensor:
        places = torch.arange(self.width, device=scores.device)
        return scores.masked_fill(places > self.place, -torch.inf)
