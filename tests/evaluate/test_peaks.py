"""Peaks of curves: seldom found where there are none, and found where there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pipeline.evaluate.peaks import find_peak

QUESTIONS, POINTS = 64, 9
STORIES = [question // 2 for question in range(QUESTIONS)]


def runs(seed: int, count: int, kept: float, rise: float = 0.0) -> Iterator[np.ndarray]:
    """Made-up runs [points, questions], flat but for a rise in their middle.

    Questions differ in how hard they are, and those of a story go together; from one point to the
    next an answer stays as it is with probability ``kept``, else it is given anew.
    """
    random = np.random.default_rng(seed)
    for _ in range(count):
        ease = np.repeat(random.uniform(0.1, 0.9, QUESTIONS // 2), 2)
        share = np.clip(ease + rise * np.hanning(POINTS)[:, None], 0, 1)
        anew = np.repeat(random.random((POINTS, QUESTIONS // 2)), 2, axis=1) < share
        stays = random.random((POINTS, QUESTIONS)) < kept
        for point in range(1, POINTS):
            anew[point] = np.where(stays[point], anew[point - 1], anew[point])
        yield anew


@pytest.mark.parametrize("kept", [0.0, 0.8])
def test_of_500_flat_runs_few_have_a_peak(kept: float) -> None:
    found = [find_peak(run, STORIES).came_and_went for run in runs(1, 500, kept)]
    assert sum(found) <= 25
    naive = [
        run.mean(axis=1)[1:-1].max() > max(run.mean(axis=1)[[0, -1]]) for run in runs(1, 99, 0)
    ]
    assert sum(naive) > 60, "the highest of many points lies above both ends"


def test_a_gain_that_came_and_went_is_found() -> None:
    found = [find_peak(run, STORIES) for run in runs(2, 50, 0.0, rise=0.5)]
    assert sum(peak.came_and_went for peak in found) >= 40
    assert all(abs(peak.place - POINTS // 2) <= 2 for peak in found)
    many = [find_peak(run, STORIES, curves=40) for run in runs(2, 50, 0.0, rise=0.5)]
    assert all(a.gain.low >= b.gain.low for a, b in zip(found, many, strict=True))


def test_what_only_rises_has_no_peak() -> None:
    random = np.random.default_rng(3)
    rising = np.linspace(0.2, 0.8, POINTS)[:, None]
    found = [find_peak(random.random((POINTS, QUESTIONS)) < rising, STORIES) for _ in range(200)]
    assert sum(peak.came_and_went for peak in found) <= 10


def test_an_interval_of_one_point_is_that_of_a_paired_change() -> None:
    from pipeline.evaluate.statistics import change

    first, middle, last = next(runs(4, 1, 0.5))[:3]
    found, exact = find_peak([first, middle, last], STORIES).gain, change(first, middle, STORIES)
    assert found.value == exact.value
    assert found.low == pytest.approx(exact.low, abs=0.02)
