"""Rows that stand or fall together: the two of a counterfactual pair are never drawn apart."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.tasks.example import Example

Group = tuple[int, ...]
"""Places of examples that belong together: both of a pair, or one example alone."""


def groups(examples: Sequence[Example]) -> list[Group]:
    """The places of the examples, those of a pair together, in the order of their first."""
    found: dict[object, list[int]] = {}
    for place, example in enumerate(examples):
        found.setdefault(example.meta.get("pair", place), []).append(place)
    return [tuple(places) for places in found.values()]


def whole_pairs(examples: Sequence[Example]) -> list[Example]:
    """Leave out examples of pairs whose other member is not there."""
    kept = {
        place
        for group in groups(examples)
        if len(group) == 2 or "pair" not in examples[group[0]].meta
        for place in group
    }
    return [example for place, example in enumerate(examples) if place in kept]


def draw(examples: Sequence[Example], count: int, random: Random) -> list[Example]:
    """Draw so many examples, pairs whole, in the order in which they stand.

    Of pairs, one example less is drawn where ``count`` is odd.
    """
    found = groups(examples)
    size = max(map(len, found), default=1)
    chosen = random.sample(range(len(found)), count // size)
    return [examples[place] for place in sorted(place for g in chosen for place in found[g])]
