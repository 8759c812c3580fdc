"""Keys and values that one token of each row attends to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pipeline.engine.shared_prefix import Prefix


class KeyValues(Protocol):
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


_STEP = 16
"""Places by which rows grow at least."""


def _room_for(used: int) -> int:
    """How many places a row is given for so many tokens, on a CPU.

    Products read keys that lie without a gap up to twice as fast as the first part of something
    larger, where a processor cannot read ahead. So the room of rows grows with them, and what holds
    no token yet is hidden and computed along. On an accelerator rows have all their room from the
    start: memory that grows would leave holes in what its allocator keeps.
    """
    return (used + max(_STEP, used // 8)) // _STEP * _STEP


def _give_room(held: list[Tensor], places: int) -> None:
    """Let keys or values of each layer [B, H, T, D] have so many places, the first as before."""
    for layer, tensor in enumerate(held):
        rows, heads, had, size = tensor.shape
        # Zeros, since what is hidden is multiplied by zero.
        more = tensor.new_zeros(rows, heads, max(places - had, 0), size)
        held[layer] = torch.cat([tensor[:, :, :places], more], 2)


class OwnKeyValues:
    """All tokens of each row, from its first on; rows come and go. See :class:`KeyValues`.

    B = rows, H = key-value heads, W = places of a row, D = width of a head, T = those of its places
    that are attended to.

    Args:
        rows: B.
        most: Tokens of the longest row that will come.
        grows: Whether room grows with the rows, see :func:`_room_for`.
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
        """Take prompts in, or parts of prompts.

        Args:
            keys: Of each layer, of each prompt [H, tokens and padding, D].
            values: As ``keys``.
            rows: Where each prompt goes.
            lengths: Tokens of each.
            left: Whether padding stands before the tokens, not after them.
            first: Where in its row each begins; at the row's beginning if absent.
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
        """Write a token's key and value [B, H, 1, D]; return what is attended to [B, H, T, D].

        Places that hold no token hold zeros, or what a longer row has left there.
        """
        size = key.shape[-1]
        keys, values = self.keys[layer], self.values[layer]
        # Under autocast the rotation leaves a token's key in float32.
        for held, given in ((keys, key), (values, value)):
            held.view(-1, size).index_copy_(0, self.places, given.to(held.dtype).reshape(-1, size))
        return keys[:, :, : self.shown], values[:, :, : self.shown]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See :class:`KeyValues`."""
        keys, values = self.add(layer, key, value)
        scores = query @ keys.transpose(-1, -2) + self.hidden
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ values


class SharedKeyValues:
    """Prompts that several rows share, and the tokens of each row since. See :class:`KeyValues`.

    Args:
        prefix: The prompts.
        room: Most tokens of a row after its prompt.

    Attributes:
        count: Own tokens that a row attends to, the next one among them.
        width: Places that it attends to, of which those that hold no token are hidden.
    """

    def __init__(self, prefix: Prefix, room: int) -> None:
        like, rows = prefix.values[0], len(prefix.places)
        self.prefix, self.room, self.count, self.width = prefix, room, 0, 0
        empty = like.new_empty(rows, like.shape[1], 0, like.shape[3])
        self.keys = [empty] * len(prefix.keys)
        self.values = [empty] * len(prefix.keys)

    def go_to(self, count: int) -> None:
        """Say that each row's next token is its ``count``-th of its own."""
        self.count = count
        if count > self.width:
            self.width = min(_room_for(count), self.room)
            for held in (self.keys, self.values):
                _give_room(held, self.width)

    def keep(self, rows: Tensor) -> None:
        """Forget all rows but some, by their indices in order."""
        self.prefix = self.prefix.keep(rows)
        for held in (self.keys, self.values):
            for layer, tensor in enumerate(held):
                held[layer] = tensor.index_select(0, rows)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See :class:`KeyValues`."""
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
        """Scores of a row's own places with those hidden that hold no token."""
        scores[..., self.count :] = -torch.inf
        return scores


class StandingKeyValues(SharedKeyValues):
    """A shared memory whose tensors keep place and shape from token to token, for a while.

    A pass can then be recorded and replayed: the device itself knows where a token goes.

    Args:
        prefix: The prompts.
        room: Most tokens of a row after its prompt.
        place: Where the next token goes [1]; whoever holds it moves it on.
    """

    fewest = 128
    """Places at first; they double whenever they are full."""

    def __init__(self, prefix: Prefix, room: int, place: Tensor) -> None:
        super().__init__(prefix, room)
        self.place = place
        for held in (self.keys, self.values):
            _give_room(held, room)

    def go_to(self, count: int) -> None:
        """See :class:`SharedKeyValues`."""
        self.count = count
        while self.width < count:
            self.width = min(max(self.fewest, 2 * self.width), self.room)

    def _write(self, held: Tensor, given: Tensor) -> None:
        # Under autocast the rotation leaves a token's key in float32.
        held.index_copy_(2, self.place, given.to(held.dtype))

    def _shown(self, scores: Tensor) -> Tensor:
        places = torch.arange(self.width, device=scores.device)
        return scores.masked_fill(places > self.place, -torch.inf)
