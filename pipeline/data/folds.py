"""Folds by story for benchmarks that publish no such split.

A hash of the story id places it in [0, 1], and the folds are three intervals. One task per
benchmark sets the cuts so that its rows are divided as evenly as whole stories allow; tasks that
share its stories share the cuts, so no story is in two folds. Answers play no part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from pipeline.tasks.example import Example

FOLDS = ("train", "validation", "test")
_SHARES = (0.6, 0.8)
"""Ends of the first two folds, in shares of the rows: Study 2's 900 / 300 / 300."""


@dataclass(frozen=True, slots=True)
class Folds:
    """Three intervals of [0, 1]; ``cuts`` are their ends."""

    cuts: tuple[float, ...]

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Folds:
        """Cut so that these examples are divided 60 / 20 / 20, by whole stories."""
        rows = Counter(_place(example.story_id) for example in examples)
        places = sorted(rows)
        filled = list(accumulate(rows[place] for place in places))
        if not filled:
            return cls((1.0, 1.0))
        total = filled[-1]
        return cls(tuple(places[bisect_right(filled, share * total)] for share in _SHARES))

    def fold_of(self, story_id: str) -> str:
        return FOLDS[bisect_right(self.cuts, _place(story_id))]


def _place(story_id: str) -> float:
    return Random(f"fold:{story_id}").random()
