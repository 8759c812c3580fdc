"""How much it takes to find a change: the promise is held against simulated studies."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.base.errors import UserError
from pipeline.evaluate.statistics import change
from pipeline.ops.planning.effect import SEED_POINTS, TURNED, found_by, needed
from tests.said import told, tomrl


@pytest.mark.parametrize("points", [5.0, 10.0, 20.0])
def test_the_questions_find_the_change_as_often_as_promised(points: float) -> None:
    wanted = needed(points)
    assert found_by(wanted.questions) == pytest.approx(points, rel=0.02)
    random = np.random.default_rng(0)
    gained = (TURNED + points / 100) / 2
    found = 0
    for _ in range(400):
        # Both questions of a story turn alike in a fifth of the stories: a correlation of 0.2.
        steps = random.choice([1, -1, 0], (wanted.stories, 2), p=_shares(gained))
        alike = random.random(wanted.stories) < 0.2
        steps[alike, 1] = steps[alike, 0]
        stories = np.repeat(np.arange(wanted.stories), 2).tolist()
        found += change([0.0] * steps.size, steps.ravel().tolist(), stories).low > 0
    assert found / 400 == pytest.approx(0.8, abs=0.06)


def _shares(gained: float) -> list[float]:
    return [gained, TURNED - gained, 1 - TURNED]


@pytest.mark.parametrize("points", [5.0, 15.0])
def test_the_seeds_find_the_change_as_often_as_promised(points: float) -> None:
    seeds = needed(points).seeds
    random = np.random.default_rng(1)
    drawn = random.normal(points, SEED_POINTS, (1000, seeds))
    low = [change([0.0] * seeds, (row / 100).tolist(), range(seeds)).low for row in drawn]
    assert 0.77 < np.mean(np.asarray(low) > 0) < 0.97
    fewer = seeds - 1
    short = random.normal(points, SEED_POINTS, (1000, fewer))
    low = [change([0.0] * fewer, (row / 100).tolist(), range(fewer)).low for row in short]
    assert np.mean(np.asarray(low) > 0) < 0.83


@pytest.mark.parametrize("points", [0.0, -3.0, 101.0, float("nan")])
def test_a_change_that_cannot_be_is_refused(points: float) -> None:
    with pytest.raises(UserError, match="--effect: found .*; allowed: more than 0"):
        needed(points)


def test_the_command_says_what_a_study_finds() -> None:
    found = told("plan", "--study", "mini", "--effect", "5")
    assert found["questions"] == needed(5.0).questions
    assert found["columns"]["rule_right"] == pytest.approx(found_by(400))
    text = tomrl("plan", "--study", "mini", "--effect", "5")
    assert "a change of 5 points in one trained model takes" in " ".join(text.split())
