"""The alarm when sampler and trainer give sampled tokens different probabilities."""

from __future__ import annotations

import pytest

from pipeline.formats.records import Figures
from pipeline.train.contract import History, Step
from pipeline.train.drift import DIFFERENCE, LIMIT, find_drift


def rows(*differences: float) -> list[Figures]:
    """A curve, with the base model's row before it."""
    found: list[Figures] = [{"step": 0, "validation_accuracy": 0.5}]
    return found + [{"step": i, DIFFERENCE: value} for i, value in enumerate(differences, 1)]


def test_usual_differences_are_no_drift() -> None:
    assert find_drift(rows(*[0.003] * 50)) is None
    assert find_drift(rows()) is None


def test_a_single_step_is_no_drift() -> None:
    assert find_drift(rows(*[0.003] * 5, 0.03, *[0.003] * 5)) is None


def test_the_first_step_by_which_it_lasts_is_named() -> None:
    found = find_drift(rows(*[0.003] * 5, *[0.02] * 20))
    assert found is not None and found.step == 8  # (2 x 0.003 + 3 x 0.02) / 5
    assert found.difference == pytest.approx(0.0132)
    assert "drift at step 8" in found.describe() and str(LIMIT) in found.describe()


def test_the_alarm_is_given_once() -> None:
    history, alarms = History(), []
    for row in rows(*[0.02] * 12):
        step = Step(step=int(row.pop("step")), metrics=row, timing={}, at=0.0)
        history = history.adding(step)
        if alarm := history.drift_alarm:
            alarms.append((history.last.step, alarm.step))
    assert alarms == [(5, 5)]
