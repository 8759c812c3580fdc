"""Folds: which stories train, validate and test, where a benchmark publishes no split by story.

A story's identity alone places it on the line from 0 to 1, and the folds are three intervals of
that line. One task per benchmark decides where they are cut, so that its rows are shared out as
evenly as whole stories allow; every task that shares stories with it is cut at the same places, so
no story stands in two folds, whatever the tasks. Answers play no part in it.
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
"""Where the first two folds end, in shares of the rows: Study 2's 900 / 300 / 300."""


@dataclass(frozen=True, slots=True)
class Folds:
    """Three intervals of the line that stories are placed on; ``cuts`` are their ends."""

    cuts: tuple[float, ...]

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Folds:
        """Cut so that these examples are shared out 60 / 20 / 20, by whole stories."""
        rows = Counter(_place(example.story_id) for example in examples)
        places = sorted(rows)
        filled = list(accumulate(rows[place] for place in places))
        if not filled:
            return cls((1.0, 1.0))
        total = filled[-1]
        return cls(tuple(places[bisect_right(filled, share * total)] for share in _SHARES))

    def fold_of(self, story_id: str) -> str:
        """The fold of a story."""
        return FOLDS[bisect_right(self.cuts, _place(story_id))]


def _place(story_id: str) -> float:
    return Random(f"fold:{story_id}").random()
