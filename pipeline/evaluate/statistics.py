"""Uncertainty of shares and of their changes, where questions come in stories.

Questions about one story are not independent: intervals that take them for it are too narrow (on
Study 1's recorded responses the standard error is up to 1.4 times the naive one).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

LEVEL = 0.95
"""Of every interval."""
_DRAWS, _ENDS = 2000, ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
"""Of a bootstrap: how often stories are drawn again, and the quantiles of what comes of it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or a difference of shares, with its 95 % interval.

    Attributes:
        value: The estimate; 0 where there is nothing to estimate it from.
        low: Lower end of the interval.
        high: Upper end of the interval.
        count: Items.
        clusters: Stories that they are about.
    """

    value: float
    low: float
    high: float
    count: int
    clusters: int

    def as_json(self) -> dict[str, Any]:
        return rounded(self)


def rounded(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, floats with four decimals."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def share(right: Sequence[bool], clusters: Sequence[Hashable]) -> Estimate:
    """A share with Wilson's interval for as many independent items as there are in effect.

    The effective number of items is p (1 - p) over the variance that is robust to clustering
    (Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", section 2), at most the number of items, with
    Student's quantile for the number of clusters. Without any variance each cluster counts once.
    """
    values = np.asarray(right, dtype=float)
    count = len(values)
    if not count:
        return Estimate(0.0, 0.0, 1.0, 0, 0)
    middle = float(values.mean())
    groups, variance = _clustered_variance(values - middle, clusters)
    if variance > 0:
        effective = min(float(count), middle * (1 - middle) / variance)
    else:
        effective = float(groups)
    low, high = _wilson(middle, effective, _quantile(groups))
    return Estimate(middle, low, high, count, groups)


def change(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[Hashable]
) -> Estimate:
    """The mean paired difference with its interval, clustered (Student's t)."""
    steps = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    count = len(steps)
    if not count:
        return Estimate(0.0, -1.0, 1.0, 0, 0)
    middle = float(steps.mean())
    groups, variance = _clustered_variance(steps - middle, clusters)
    reach = _quantile(groups) * variance**0.5 if groups > 1 else 1.0
    return Estimate(middle, max(-1.0, middle - reach), min(1.0, middle + reach), count, groups)


def mcnemar(before: Sequence[float], after: Sequence[float]) -> float:
    """The p-value of McNemar's exact test: do as many answers turn right as turn wrong?"""
    gained = sum(b > a for a, b in zip(before, after, strict=True))
    lost = sum(a > b for a, b in zip(before, after, strict=True))
    if not gained + lost:
        return 1.0
    both_tails = 2 * special.bdtr(min(gained, lost), gained + lost, 0.5)
    return min(1.0, float(both_tails))


def changed_by_chance(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[Hashable]
) -> float:
    """The p-value of a mean paired difference: the larger one of two tests.

    Student's t over stories, that of :func:`change`, knows that questions about one story go
    together; McNemar's exact test (of shares, the sign test) knows how few of them turned.
    """
    steps = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    if not steps.any():
        return 1.0
    groups, variance = _clustered_variance(steps - steps.mean(), clusters)
    if groups < 2:
        return 1.0
    distance = abs(float(steps.mean())) / variance**0.5 if variance else np.inf
    return max(mcnemar(before, after), 2 * float(special.stdtr(groups - 1, -distance)))


def bootstrap_change(
    before: Sequence[float],
    after: Sequence[float],
    clusters: Sequence[Hashable],
) -> tuple[float, float]:
    """The 95 % interval of the mean paired difference by drawing whole stories again."""
    steps = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    index = numbered(clusters)
    return _drawn_ratio(np.bincount(index, steps), np.bincount(index))


def _drawn_ratio(tops: np.ndarray, bottoms: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a ratio of sums by drawing whole stories again."""
    drawn = np.random.default_rng(0).integers(0, len(tops), size=(_DRAWS, len(tops)))
    ratios = tops[drawn].sum(axis=1) / np.maximum(bottoms[drawn].sum(axis=1), 1e-9)
    low, high = np.quantile(ratios, _ENDS)
    return float(low), float(high)


def median(values: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """The median, which is not of nothing, by drawing whole stories again."""
    each, index = np.asarray(values, dtype=float), numbered(clusters)
    order = np.argsort(each)
    stories = int(index.max()) + 1
    drawn = np.random.default_rng(0).multinomial(stories, np.full(stories, 1 / stories), _DRAWS)
    weights = np.cumsum(drawn[:, index[order]], axis=1)
    places = (2 * weights < weights[:, -1:]).sum(axis=1)
    low, high = np.quantile(each[order][places], _ENDS)
    return Estimate(float(np.median(each)), float(low), float(high), len(each), stories)


def ratio(
    before: Sequence[float],
    after: Sequence[float],
    clusters: Sequence[Hashable],
) -> Estimate:
    """The ratio of two means, after over before, by drawing whole stories again.

    Raises:
        ZeroDivisionError: If what was before is nothing at all.
    """
    first, then = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    index = numbered(clusters)
    firsts, thens = np.bincount(index, first), np.bincount(index, then)
    low, high = _drawn_ratio(thens, firsts)
    value = float(then.sum()) / float(first.sum())
    return Estimate(value, low, high, len(first), len(firsts))


def seeds_and_stories(
    steps: Sequence[Sequence[float]],
    clusters: Sequence[Sequence[Hashable]],
) -> tuple[float, float]:
    """The 95 % interval of a mean over seeds, drawing seeds and whole stories again.

    Seeds and stories are drawn apart, each story once for all seeds that were asked about it: what
    makes a story easy makes it easy for every seed (the pigeonhole bootstrap, Owen 2007, Annals of
    Applied Statistics 1(2)). With n seeds it is too narrow by about the root of (n - 1) / n in
    what seeds contribute; Student's interval over seeds is not.

    Args:
        steps: What changed in each question, for each seed.
        clusters: The story of each question, for each seed.
    """
    index = numbered([cluster for each in clusters for cluster in each])
    seeds, stories = len(steps), int(index.max()) + 1
    place = np.repeat(np.arange(seeds), [len(each) for each in steps]) * stories + index
    values = np.concatenate([np.asarray(each, dtype=float) for each in steps])
    size = seeds * stories
    sums = np.bincount(place, values, size).reshape(seeds, stories)
    counts = np.bincount(place, minlength=size).reshape(seeds, stories)
    random = np.random.default_rng(0)
    of_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), _DRAWS)
    of_stories = random.multinomial(stories, np.full(stories, 1 / stories), _DRAWS)
    totals = ((of_seeds @ sums) * of_stories).sum(axis=1)
    sizes = ((of_seeds @ counts) * of_stories).sum(axis=1)
    low, high = np.quantile(totals[sizes > 0] / sizes[sizes > 0], _ENDS)
    return float(low), float(high)


def numbered(clusters: Sequence[Hashable]) -> np.ndarray:
    """The number of each one's cluster, in the order in which these first come."""
    numbers: dict[Hashable, int] = {}
    return np.asarray([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for making as many comparisons (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def _clustered_variance(deviations: np.ndarray, clusters: Sequence[Hashable]) -> tuple[int, float]:
    """The number of clusters and the variance of the mean that is robust to them."""
    sums = np.bincount(numbered(clusters), deviations)
    groups = len(sums)
    if groups < 2:
        return groups, 0.0
    return groups, float(groups / (groups - 1) * (sums**2).sum() / len(deviations) ** 2)


def _quantile(groups: int) -> float:
    return float(special.stdtrit(max(1, groups - 1), (1 + LEVEL) / 2))


def _wilson(middle: float, count: float, z: float) -> tuple[float, float]:
    scale = 1 + z**2 / count
    centre = (middle + z**2 / (2 * count)) / scale
    reach = z / scale * (middle * (1 - middle) / count + z**2 / (4 * count**2)) ** 0.5
    return max(0.0, centre - reach), min(1.0, centre + reach)
