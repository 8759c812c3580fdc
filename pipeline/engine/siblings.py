"""Prompts with a common beginning, which is encoded once.

Benchmarks ask several questions of a story (Hi-ToM five, FANToM and OpenToM more), sampling asks
for several answers. Of Hi-ToM's 600 sorted questions, two thirds of the text repeat the question
before.

Source of the idea: prefix sharing of Zheng et al. 2023, "SGLang: Efficient Execution of Structured
Language Model Programs", section 3 (arXiv 2312.07104).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.engine.key_values import OwnKeyValues
from pipeline.engine.passes import Passes
from pipeline.engine.shared_prefix import Prefix

WORTH = 0.5
"""Minimum common share of the longest prompt: an extra pass costs."""


@dataclass(frozen=True, slots=True)
class Siblings:
    """Indices of prompts whose first ``shared`` tokens are equal; 0 for one alone."""

    prompts: tuple[int, ...]
    shared: int


def siblings_of(prompts: Sequence[Sequence[int]]) -> list[Siblings]:
    """Group prompts, none empty, so that few tokens are left to encode."""
    tokens = [tuple(prompt) for prompt in prompts]
    order = sorted(range(len(tokens)), key=lambda place: tokens[place])
    found: list[Siblings] = []
    members: list[int] = []
    shared = longest = 0
    for place in order:
        longest = max(longest, len(tokens[place]))
        # In order, what the first and the last begin with is what all between begin with.
        common = _common(tokens[members[0]], tokens[place]) if members else 0
        saved, before = common * len(members), shared * (len(members) - 1)
        if members and saved >= before and common >= WORTH * longest:
            members.append(place)
            shared = common
            continue
        if members:
            found.append(Siblings(tuple(sorted(members)), shared))
        members, shared, longest = [place], 0, len(tokens[place])
    if members:
        found.append(Siblings(tuple(sorted(members)), shared))
    return sorted(found, key=lambda siblings: siblings.prompts[0])


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    most = min(len(one), len(other)) - 1
    return next((n for n in range(most) if one[n] != other[n]), most)


@dataclass(frozen=True, slots=True)
class _Stem:
    """Keys or values per layer of a common beginning [key-value heads, tokens, head width]."""

    keys: list[Tensor]
    values: list[Tensor]


class Encoder:
    """Encodes prompts into rows of a cache; a common beginning is kept until its last prompt.

    Attributes:
        order: Indices of the prompts, siblings together: the order to encode them in.
    """

    def __init__(self, passes: Passes, prompts: Sequence[Sequence[int]]) -> None:
        self.passes, self.prompts = passes, prompts
        self._families = siblings_of(prompts)
        self.order = [place for family in self._families for place in family.prompts]
        self._family = {p: n for n, family in enumerate(self._families) for p in family.prompts}
        self._left = [len(family.prompts) for family in self._families]
        self._stems: dict[int, _Stem] = {}  # by the number of the family

    def encode(self, wanted: Sequence[int], rows: Sequence[int], memory: OwnKeyValues) -> Tensor:
        """Encode prompts into ``rows`` of a cache, each prompt once in all.

        Returns:
            Logits of the token after each [wanted, V].
        """
        shared = [self._families[self._family[place]].shared for place in wanted]
        alone = [n for n, tokens in enumerate(shared) if not tokens]
        others = [n for n, tokens in enumerate(shared) if tokens]
        made = [
            call([wanted[n] for n in which], [rows[n] for n in which], memory)
            for which, call in ((alone, self._whole), (others, self._after_stems))
            if which
        ]
        logits = torch.cat(made)
        return logits[torch.tensor(alone + others, device=logits.device).argsort()]

    def _whole(self, wanted: Sequence[int], rows: Sequence[int], memory: OwnKeyValues) -> Tensor:
        prompts = [self.prompts[place] for place in wanted]
        found = self.passes.encode(prompts)
        memory.take(found.keys, found.values, rows, list(map(len, prompts)), found.left)
        return found.logits

    def _after_stems(
        self, wanted: Sequence[int], rows: Sequence[int], memory: OwnKeyValues
    ) -> Tensor:
        families = [self._family[place] for place in wanted]
        self._encode_stems(families)
        stems = [self._stems[family] for family in families]
        begun = [self._families[family].shared for family in families]
        rests = [self.prompts[place][first:] for place, first in zip(wanted, begun, strict=True)]
        found = self.passes.encode_after(rests, self._prefix(families), begun)
        layers = range(len(found.keys))
        keys = [[stem.keys[layer] for stem in stems] for layer in layers]
        values = [[stem.values[layer] for stem in stems] for layer in layers]
        memory.take(keys, values, rows, begun, left=False)
        memory.take(found.keys, found.values, rows, list(map(len, rests)), found.left, begun)
        self._forget(families)
        return found.logits

    def _encode_stems(self, families: Sequence[int]) -> None:
        new = [family for family in dict.fromkeys(families) if family not in self._stems]
        if not new:
            return
        begun = [self._families[family] for family in new]
        tokens = [self.prompts[each.prompts[0]][: each.shared] for each in begun]
        found = self.passes.encode(tokens)
        longest = found.keys[0].shape[2]
        for row, (family, each) in enumerate(zip(new, begun, strict=True)):
            first = longest - each.shared if found.left else 0
            mine = slice(first, first + each.shared)
            # Copies, so that one who waits for the last sibling does not hold the whole batch.
            self._stems[family] = _Stem(
                [tensor[row, :, mine].clone() for tensor in found.keys],
                [tensor[row, :, mine].clone() for tensor in found.values],
            )

    def _prefix(self, families: Sequence[int]) -> Prefix:
        stems = {family: self._stems[family] for family in families}
        group = max(Counter(families).values())
        device = next(iter(stems.values())).values[0].device
        shared = [self._families[family].shared for family in stems]
        longest = max(shared)
        keys = zip(*(stem.keys for stem in stems.values()), strict=True)
        values = zip(*(stem.values for stem in stems.values()), strict=True)
        prefix = Prefix.of(
            [_beside_each_other(layer, longest) for layer in keys],
            [_beside_each_other(layer, longest) for layer in values],
            shared,
            group,
        )
        first = {family: number * group for number, family in enumerate(stems)}
        seen: Counter[int] = Counter()
        places = []
        for family in families:
            places.append(first[family] + seen[family])
            seen[family] += 1
        return prefix.keep(torch.tensor(places, device=device))

    def _forget(self, families: Sequence[int]) -> None:
        for family in families:
            self._left[family] -= 1
            if not self._left[family]:
                del self._stems[family]


def _beside_each_other(tensors: Sequence[Tensor], longest: int) -> Tensor:
    """Stack tensors [H, their tokens, D] as [tensors, H, ``longest``, D]."""
    heads, _, size = tensors[0].shape
    # Zeros, since what is hidden is multiplied by zero.
    laid = tensors[0].new_zeros(len(tensors), heads, longest, size)
    for row, tensor in zip(laid, tensors, strict=True):
        row[:, : tensor.shape[1]] = tensor
    return laid
