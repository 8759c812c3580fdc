"""Every statistic against the same thing written out plainly, on few items in uneven stories."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import comb, inf
from statistics import mean

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from pipeline.evaluate.statistics import (
    Estimate,
    bootstrap_change,
    change,
    changed_by_chance,
    holm,
    mcnemar,
    median,
    ratio,
    seeds_and_stories,
    share,
)

DRAWS = 2000
Stories = Sequence[str]
SHARES = [
    ("1101001", "aabbbcd"),
    ("101011", "aabbcc"),  # questions of a story unlike each other: at most as many as there are
    ("1110", "aabb"),  # two stories
    ("1101", "aaaa"),  # one
    ("1111111", "aabbccc"),
    ("000", "abc"),
    ("1" * 40 + "0" * 26, "abcde" * 13 + "a"),
]
PAIRS = [
    ((0, 0, 1, 0, 1, 0, 0), (1, 1, 1, 1, 0, 0, 1), "aabbbcd"),
    ((0.2, 0.5, 0.1, 0.9), (0.4, 0.5, 0.8, 0.7), "abca"),
    ((0, 0), (1, 1), "ab"),  # all change alike
    ((0, 1, 0), (1, 0, 0), "aab"),
    ((1, 0, 1), (0, 1, 0), "abb"),
    ((1, 1, 1, 0), (0, 0, 0, 0), "abab"),
    ((0, 0, 0, 1), (1, 0, 0, 0), "aaaa"),
    ((0, 0, 1), (1, 1, 1), "aaa"),
    ((0, 1), (0, 1), "ab"),
    ((0,) * 9 + (1,), (1,) * 9 + (0,), "abcdefghij"),
    ((0,) * 19 + (1,), (1,) * 10 + (0,) * 9 + (1,), "aaaaabbbbbcccccddddd"),  # stories decide
]


def variance_of_the_mean(values: Sequence[float], stories: Stories) -> tuple[int, float]:
    """How many stories there are, and the sandwich estimator over them."""
    groups = {
        s: [v for v, about in zip(values, stories, strict=True) if about == s] for s in stories
    }
    sums = [sum(v - mean(values) for v in group) for group in groups.values()]
    count = len(sums)
    if count == 1:
        return 1, 0.0
    return count, count / (count - 1) * sum(s**2 for s in sums) / len(values) ** 2


def quantiles(drawn: Sequence[float]) -> tuple[float, float]:
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


def numbered(stories: Sequence[str]) -> list[int]:
    return [list(dict.fromkeys(stories)).index(story) for story in stories]


@pytest.mark.parametrize(("answers", "stories"), SHARES)
def test_share(answers: str, stories: str) -> None:
    right = [answer == "1" for answer in answers]
    p, count = mean(map(float, right)), len(right)
    groups, variance = variance_of_the_mean(list(map(float, right)), stories)
    n = min(count, p * (1 - p) / variance) if variance else groups
    z = stats.t.ppf(0.975, max(1, groups - 1))
    # Wilson: all shares q with |p - q| <= z sqrt(q (1 - q) / n); the roots of a square equation.
    low, high = sorted(np.roots([1 + z**2 / n, -(2 * p + z**2 / n), p**2]).real)
    found = share(right, stories)
    assert (found.value, found.low, found.high) == pytest.approx((p, low, high), abs=1e-7)
    assert (found.count, found.clusters) == (count, groups)
    assert found.low >= 0 and found.high <= 1


@pytest.mark.parametrize(("before", "after", "stories"), PAIRS)
def test_change(before: Sequence[float], after: Sequence[float], stories: str) -> None:
    steps = [b - a for a, b in zip(before, after, strict=True)]
    groups, variance = variance_of_the_mean(steps, stories)
    reach = stats.t.ppf(0.975, groups - 1) * variance**0.5 if groups > 1 else 1.0
    low, high = max(-1, mean(steps) - reach), min(1, mean(steps) + reach)
    found = change(before, after, stories)
    assert (found.value, found.low, found.high) == pytest.approx((mean(steps), low, high))
    assert (found.count, found.clusters) == (len(steps), groups)


@pytest.mark.parametrize(("before", "after", "stories"), PAIRS)
def test_changed_by_chance(before: Sequence[float], after: Sequence[float], stories: str) -> None:
    steps = [b - a for a, b in zip(before, after, strict=True)]
    gained, lost = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    turned = gained + lost
    tail = sum(comb(turned, k) for k in range(min(gained, lost) + 1)) / 2**turned
    exact = min(1, 2 * tail)
    assert mcnemar(before, after) == pytest.approx(exact)
    groups, variance = variance_of_the_mean(steps, stories)
    if groups == 1 or not turned:
        student = 1.0
    else:
        t = abs(mean(steps)) / variance**0.5 if variance else inf
        student = 2 * float(stats.t.sf(t, groups - 1))
    assert changed_by_chance(before, after, stories) == pytest.approx(max(exact, student))


def uneven(count: int) -> tuple[list[float], list[str]]:
    """Values that no two stories have in common, each story with one to three of them."""
    stories = [name for place, name in enumerate("abcdefghijk") for _ in range(1 + place % 3)]
    values = np.random.default_rng(count).normal(3, 1, len(stories))
    return [float(value) for value in values], stories


def test_bootstraps_of_changes_and_ratios_draw_whole_stories() -> None:
    (before, stories), (after, _) = uneven(1), uneven(2)
    index = numbered(stories)
    drawn = np.random.default_rng(0).integers(0, 11, size=(DRAWS, 11))
    changes, ratios = [], []
    for draw in drawn:
        places = [p for story in draw for p, s in enumerate(index) if s == story]
        first, then = sum(before[p] for p in places), sum(after[p] for p in places)
        changes.append((then - first) / len(places))
        ratios.append(then / first)
    found = bootstrap_change(before, after, stories)
    assert found == pytest.approx(quantiles(changes))
    expected = Estimate(sum(after) / sum(before), *quantiles(ratios), len(index), 11)
    assert_alike(ratio(before, after, stories), expected)


def test_a_ratio_bears_stories_without_anything_before() -> None:
    found = ratio([0, 2], [1, 1], "ab")
    assert (found.value, found.low, found.high) == pytest.approx((1, 0.5, 2 / 1e-9))
    with pytest.raises(ZeroDivisionError):
        ratio([0, 0], [1, 1], "ab")


@pytest.mark.parametrize("apart", [False, True])
def test_the_median_of_draws_is_the_lower_one(apart: bool) -> None:
    values, stories = uneven(1)
    index = list(range(len(values))) if apart else numbered(stories)
    count = max(index) + 1
    drawn = np.random.default_rng(0).multinomial(count, [1 / count] * count, DRAWS)
    medians = []
    for times in drawn:
        several = sorted(v for v, s in zip(values, index, strict=True) for _ in range(times[s]))
        medians.append(several[(len(several) - 1) // 2])
    expected = Estimate(float(np.median(values)), *quantiles(medians), len(values), count)
    assert_alike(median(values, index), expected)


def test_seeds_and_stories_are_drawn_apart() -> None:
    steps = [[0.07, 1.3, 0.9, 0.26], [0.41], [1.1, 0.03, 0.52]]
    stories = ["bcca", "d", "aab"]  # the last seed is not asked about the last story
    index = numbered([story for each in stories for story in each])
    starts = [0, *accumulate(map(len, steps))]
    random = np.random.default_rng(0)
    seeds = random.multinomial(3, [1 / 3] * 3, DRAWS)
    drawn = random.multinomial(4, [1 / 4] * 4, DRAWS)
    means = []
    for of_seeds, of_stories in zip(seeds, drawn, strict=True):
        weighed = [
            (int(of_seeds[run] * of_stories[index[starts[run] + place]]), step)
            for run, each in enumerate(steps)
            for place, step in enumerate(each)
        ]
        total = sum(weight for weight, _ in weighed)
        if total:  # the stories drawn may be none that these seeds were asked about
            means.append(sum(weight * step for weight, step in weighed) / total)
    assert len(means) < DRAWS
    assert seeds_and_stories(steps, stories) == pytest.approx(quantiles(means))


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03], [0.02, 0.021, 0.5, 0.001], [0.3, 0.3, 0.01], [0.7], []]
)
def test_holm(p_values: list[float]) -> None:
    def corrected(p: float) -> float:
        """The largest of the p-values up to this one, each times those not before it."""
        ordered = sorted(p_values)
        return min(1.0, max((len(ordered) - i) * q for i, q in enumerate(ordered) if q <= p))

    assert holm(p_values) == pytest.approx([corrected(p) for p in p_values])


def test_nothing_says_nothing() -> None:
    assert share([], []) == Estimate(0.0, 0.0, 1.0, 0, 0)
    assert change([], [], []) == Estimate(0.0, -1.0, 1.0, 0, 0)


def test_the_interval_of_a_share_covers_it() -> None:
    """Also where the chance to be right differs from story to story."""
    random, covered, draws = np.random.default_rng(1), 0, 400
    stories = [place // 5 for place in range(200)]
    for _ in range(draws):
        chances = np.repeat(np.clip(random.normal(0.5, 0.3, 40), 0, 1), 5)
        found = share(list(random.random(200) < chances), stories)
        covered += found.low <= 0.5 <= found.high
    assert 0.92 <= covered / draws <= 0.985


def test_what_does_not_pair_up_is_refused() -> None:
    with pytest.raises(ValueError, match="argument 2"):
        mcnemar([0, 1], [0])
    with pytest.raises(ValueError, match="argument 2"):
        mcnemar([0, 1], [0, 1, 1])


def test_an_estimate_is_written_with_four_decimals() -> None:
    written = Estimate(0.123456, 0.00004, 0.99996, 12, 5).as_json()
    assert written == {"value": 0.1235, "low": 0.0, "high": 1.0, "count": 12, "clusters": 5}


def assert_alike(found: Estimate, expected: Estimate) -> None:
    ends = [(each.value, each.low, each.high) for each in (found, expected)]
    assert ends[0] == pytest.approx(ends[1])
    assert (found.count, found.clusters) == (expected.count, expected.clusters)
