"""Whether a curve has a peak: a step above both its ends by more than chance makes of so many.

The highest of many noisy points lies above the truth, and above both ends of a flat curve. How far
chance takes the farthest of them is found by giving whole stories, with all their answers along the
curve, random signs and sizes (the multiplier bootstrap of the largest mean: Chernozhukov,
Chetverikov and Kato 2013, Annals of Statistics 41(6)). So what neighbouring steps have in common,
and the questions of a story, need no model.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipeline.evaluate.statistics import LEVEL, Estimate, numbered

FEWEST_POINTS = 3
"""From which a rise and a fall can be told."""
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest point between the two ends of a curve.

    Attributes:
        place: Its place in the curve, whose first point is 0.
        gain: By how much it lies above the first point, with the interval in which the changes of
            all points between the ends lie together.
        loss: By how much it lies above the last point, with such an interval.
    """

    place: int
    gain: Estimate
    loss: Estimate

    @property
    def came_and_went(self) -> bool:
        return came_and_went(self.gain, self.loss)


def came_and_went(gain: Estimate, loss: Estimate) -> bool:
    """Whether a point lies above both ends by more than chance makes, and most of its gain went."""
    return gain.low > 0 and loss.low > 0 and 2 * loss.value > gain.value


def find_peak(
    right: Sequence[Sequence[float]], clusters: Sequence[Hashable], curves: int = 1
) -> Peak:
    """The highest point of a curve between its ends.

    Args:
        right: Of each point, in order, what each question scores: the same questions at each.
        clusters: The story of each question.
        curves: Curves that are looked at together (Bonferroni).

    Raises:
        ValueError: If there are fewer than :data:`FEWEST_POINTS` points.
    """
    answers = np.asarray(right, dtype=float)
    if len(answers) < FEWEST_POINTS:
        raise ValueError(f"{len(answers)} points")
    between = answers[1:-1]
    place = int(between.mean(axis=1).argmax())
    above = (
        _together(between - end, place, clusters, 1 - (1 - LEVEL) / curves)
        for end in (answers[0], answers[-1])
    )
    return Peak(1 + place, *above)


def _together(
    steps: np.ndarray, place: int, clusters: Sequence[Hashable], level: float
) -> Estimate:
    """One of several mean differences [points, questions], as sure as all of them together."""
    index = numbered(clusters)
    means, groups = steps.mean(axis=1), int(index.max()) + 1
    value, count = float(means[place]), steps.shape[1]
    if groups < 2:
        return Estimate(value, -1.0, 1.0, count, groups)
    sums = np.stack([np.bincount(index, row) for row in steps - means[:, None]])
    drawn = _signs_and_sizes(groups) @ sums.T / count
    farthest = np.abs(drawn).max(axis=1) * (groups / (groups - 1)) ** 0.5
    reach = float(np.quantile(farthest, level))
    return Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), count, groups)


@lru_cache(maxsize=2)  # most curves of a study have as many stories
def _signs_and_sizes(groups: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((_DRAWS, groups))
