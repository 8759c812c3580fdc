"""Grouping of rows: the members of a counterfactual pair stay together."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.tasks.example import Example

Group = tuple[int, ...]
"""Indices of examples that belong together: a pair, or one example alone."""


def groups(examples: Sequence[Example]) -> list[Group]:
    """Indices of the examples, pairs together, in order of their first member."""
    found: dict[object, list[int]] = {}
    for place, example in enumerate(examples):
        found.setdefault(example.meta.get("pair", place), []).append(place)
    return [tuple(places) for places in found.values()]


def whole_pairs(examples: Sequence[Example]) -> list[Example]:
    """Leave out examples of pairs whose other member is missing."""
    kept = {
        place
        for group in groups(examples)
        if len(group) == 2 or "pair" not in examples[group[0]].meta
        for place in group
    }
    return [example for place, example in enumerate(examples) if place in kept]


def draw(examples: Sequence[Example], count: int, random: Random) -> list[Example]:
    """Draw ``count`` examples, pairs whole, in their original order.

    Of pairs, one example less is drawn where ``count`` is odd.
    """
    found = groups(examples)
    size = max(map(len, found), default=1)
    chosen = random.sample(range(len(found)), count // size)
    return [examples[place] for place in sorted(place for g in chosen for place in found[g])]
