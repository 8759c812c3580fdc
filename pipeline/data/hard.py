"""Hard questions: adversarial filtering against rules learned from the questions.

A learned rule (:mod:`pipeline.rules.learned`) is fitted out of fold to the gold answers of a pool,
and a part of what it gets right is left out; then again, until neither it, nor the best list of two
rules, nor a linear model of wording (:mod:`pipeline.rules.wording`) is right on more than
``ENOUGH`` of the rest. Each round filters by the best of the three and refits, since leaving out
one rule's answers teaches the next its opposite. The method is AFLite's (Le Bras et al. 2020, arXiv
2002.04108), with trees on surface features beside linear models, and whole pairs in place of single
rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from pipeline.data.together import Group, groups
from pipeline.rules.learned import FEWEST, CrossFitted, cross_fitted, cross_fitted_list
from pipeline.rules.reading import read_all
from pipeline.rules.surface import SurfaceQuestion, gold_places
from pipeline.rules.wording import Described, cross_fitted_wording, describe
from pipeline.tasks.example import Example

ENOUGH = 0.60
"""Accuracy of the learned rules at which filtering ends; chance is a third to a half."""

ENOUGH_PAIRS = 0.20
"""The same for pairs with both members right."""

_LEFT_OUT = 0.4
"""Share of the groups answered right that each round leaves out."""


def hard_ones(
    examples: Sequence[Example], kinds: Sequence[Hashable], random: Random
) -> list[Example]:
    """The examples left after filtering, in order; pairs count and stay as a whole.

    Filtering takes most from the most frequent of ``kinds``.
    """
    pool = _Pool.of(examples)
    kept = groups(examples)
    while len(kept) >= FEWEST:
        solved = pool.solved(kept)
        if not solved:
            break
        dropped = _drawn(solved, [kinds[group[0]] for group in kept], random)
        kept = [group for place, group in enumerate(kept) if place not in dropped]
    return [examples[place] for group in kept for place in group]


def best_share(examples: Sequence[Example]) -> float | None:
    """How often the best of the learned rules is right out of fold; None of too few questions."""
    if len(examples) < FEWEST:
        return None
    pool = _Pool.of(examples)
    fits = _fitted(pool.asked, pool.described, pool.gold)
    return max((float((np.asarray(f.answers) == pool.gold).mean()) for f in fits), default=None)


def _fitted(
    asked: Sequence[SurfaceQuestion], described: Sequence[Described], gold: np.ndarray
) -> list[CrossFitted]:
    fits = (
        cross_fitted(asked, gold.tolist()),
        cross_fitted_list(asked, gold.tolist()),
        cross_fitted_wording(asked, described, gold.tolist()),
    )
    return [found for found in fits if found is not None]


def _drawn(solved: Sequence[int], kinds: Sequence[Hashable], random: Random) -> set[int]:
    """The solved indices to leave out, each from the kind that has most left."""
    left = Counter(kinds)
    of_kind: dict[Hashable, list[int]] = defaultdict(list)
    for place in random.sample(solved, len(solved)):
        of_kind[kinds[place]].append(place)
    dropped: set[int] = set()
    for _ in range(max(1, round(_LEFT_OUT * len(solved)))):
        kind = max((k for k in of_kind if of_kind[k]), key=lambda k: left[k])
        dropped.add(of_kind[kind].pop())
        left[kind] -= 1
    return dropped


@dataclass(frozen=True, slots=True)
class _Pool:
    """Questions as input of surface rules, and the indices of the gold answers."""

    asked: tuple[SurfaceQuestion, ...]
    described: tuple[Described, ...]
    gold: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[Example]) -> _Pool:
        readings = read_all(examples)
        asked, gold = gold_places(readings)
        return cls(tuple(asked), tuple(describe(asked, readings)), np.asarray(gold))

    def solved(self, kept: Sequence[Group]) -> list[int]:
        """The groups that the best learned rule answers right; none if they are few."""
        places = [place for group in kept for place in group]
        asked, gold = [self.asked[place] for place in places], self.gold[places]
        described = [self.described[place] for place in places]
        ends = np.cumsum([0, *map(len, kept)])[:-1]
        worst, solved = 0.0, np.zeros(len(kept), dtype=bool)
        for found in _fitted(asked, described, gold):
            right = np.asarray(found.answers) == gold
            whole = np.logical_and.reduceat(right, ends)
            over = float(right.mean()) - ENOUGH
            if len(places) > len(kept):
                over = max(over, float(whole.mean()) - ENOUGH_PAIRS)
            if over > worst:
                worst, solved = over, whole
        return np.flatnonzero(solved).tolist()
