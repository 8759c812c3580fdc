"""Uncertainty of shares and changes: against other implementations, and over drawn samples."""

from __future__ import annotations

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
    share,
)


def drawn(
    stories: int, questions: int, middle: float, spread: float, random: np.random.Generator
) -> tuple[list[bool], list[int]]:
    """Draw answers whose chance to be right differs from story to story."""
    chances = np.clip(random.normal(middle, spread, stories), 0, 1)
    right = [bool(random.random() < chance) for chance in chances for _ in range(questions)]
    return right, [story for story in range(stories) for _ in range(questions)]


def test_one_question_a_story_is_wilsons_interval_with_students_quantile() -> None:
    right = [True] * 60 + [False] * 40
    found = share(right, range(100))
    scipys = stats.binomtest(60, 100).proportion_ci(method="wilson")
    assert (found.value, found.count, found.clusters) == (0.6, 100, 100)
    assert found.low == pytest.approx(scipys.low, abs=0.004)
    assert found.high == pytest.approx(scipys.high, abs=0.004)
    assert found.low < scipys.low and scipys.high < found.high


def test_questions_about_one_story_count_less() -> None:
    right, stories = drawn(60, 5, 0.6, 0.4, np.random.default_rng(0))
    clustered, naive = share(right, stories), share(right, range(len(right)))
    assert clustered.value == naive.value
    assert clustered.high - clustered.low > 1.2 * (naive.high - naive.low)


def test_the_interval_of_a_share_covers_it() -> None:
    random, covered, draws = np.random.default_rng(1), 0, 400
    for _ in range(draws):
        right, stories = drawn(40, 5, 0.5, 0.3, random)
        found = share(right, stories)
        covered += found.low <= 0.5 <= found.high
    assert 0.92 <= covered / draws <= 0.985


@pytest.mark.parametrize("value", [True, False])
def test_without_any_variance_a_story_counts_once(value: bool) -> None:
    found = share([value] * 50, [place // 5 for place in range(50)])
    one_each = share([value] * 10, range(10))
    assert (found.low, found.high) == (one_each.low, one_each.high)
    assert found.low < found.high


def test_nothing_says_nothing() -> None:
    assert share([], []) == Estimate(0.0, 0.0, 1.0, 0, 0)
    assert change([], [], []) == Estimate(0.0, -1.0, 1.0, 0, 0)
    one = change([False], [True], ["a"])
    assert (one.value, one.low, one.high) == (1.0, 0.0, 1.0)


def test_a_change_of_independent_items_is_the_paired_t_test() -> None:
    random = np.random.default_rng(2)
    before, after = random.random(80), random.random(80) + 0.1
    found = change(list(before), list(after), range(80))
    low, high = stats.ttest_rel(after, before).confidence_interval()
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_the_bootstrap_agrees_with_the_interval() -> None:
    random = np.random.default_rng(3)
    before, stories = drawn(80, 5, 0.4, 0.2, random)
    after, _ = drawn(80, 5, 0.6, 0.2, random)
    found = change(before, after, stories)
    low, high = bootstrap_change(before, after, stories)
    assert low == pytest.approx(found.low, abs=0.02)
    assert high == pytest.approx(found.high, abs=0.02)


def test_a_median_has_an_interval_by_story() -> None:
    values, stories = np.repeat(np.arange(101.0), 5), np.repeat(np.arange(101), 5)
    found, naive = median(list(values), list(stories)), median(list(values), range(505))
    assert (found.value, found.count, found.clusters) == (50.0, 505, 101)
    assert found.low < naive.low < 50 < naive.high < found.high
    assert found.low == pytest.approx(50 - 1.96 * 101 / (2 * 101**0.5), abs=3)


def test_a_change_by_chance_heeds_stories_and_how_few_turned() -> None:
    before, after, each = [0] * 40, [1] * 10 + [0] * 30, list(range(40))
    assert changed_by_chance(before, after, each) == pytest.approx(
        max(mcnemar(before, after), stats.ttest_rel(after, before).pvalue)
    )
    of_eight_stories = [place // 5 for place in each]
    assert changed_by_chance(before, after, of_eight_stories) > 5 * mcnemar(before, after)
    assert changed_by_chance(before, before, each) == 1.0
    assert changed_by_chance([0] * 4, [1] * 4, each[:4]) == mcnemar([0] * 4, [1] * 4)


def test_mcnemar_counts_what_turned() -> None:
    before = [True] * 5 + [False] * 15
    after = [False] * 5 + [True] * 15
    assert mcnemar(before, after) == pytest.approx(stats.binomtest(15, 20).pvalue)
    assert mcnemar(before, before) == 1.0


def test_holm_corrects_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
