"""Reward presets: exact totals of both studies."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from pipeline.base.errors import UserError
from pipeline.base.plugins import REWARDS
from pipeline.reward.presets import load_preset, reward, safe_reward
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

EXAMPLE = Example("hi_tom_style", "hi_tom_style_train", "s", "q", "red_box")
RIGHT = " Ann left.</think><answer> red_box</answer>"
WRONG = " Ann left.</think><answer> blue_jar</answer>"
NO_FORMAT = "<answer>red_box</answer>"
REPEATED = " a</think></think><answer>red_box</answer>"
SECOND_PREFILL = "<think> Ann left.</think><answer> red_box</answer>"
EITHER = " Ann left.</think><answer> either blue_jar or red_box</answer>"
RESPONSES = (RIGHT, WRONG, NO_FORMAT, REPEATED, SECOND_PREFILL, EITHER)


@pytest.mark.parametrize(
    ("preset", "scores"),
    [
        ("tom-rl", (3.0, -1.0, -3.0, -3.0, -3.0, 3.0)),
        ("tom-rl-strict", (3.0, -1.0, -3.0, -3.0, -3.0, -1.0)),
        ("tom-rl-text", (3.0, -1.0, 1.0, -3.0, -3.0, -1.0)),
        ("rlvr", (1.1, 0.1, 0.0, 0.0, 0.0, 0.1)),
    ],
)
def test_totals(preset: str, scores: tuple[float, ...]) -> None:
    for response, score in zip(RESPONSES, scores, strict=True):
        assert reward(load_preset(preset), response, EXAMPLE).score == pytest.approx(score), (
            response
        )


def test_parts_add_up_and_the_grade_is_the_graders() -> None:
    for preset in REWARDS:
        for response in (*RESPONSES, ""):
            given = reward(load_preset(preset), response, EXAMPLE)
            assert given.score == pytest.approx(given.earned.form + given.earned.answer)
            assert given.grade.correct == (response not in (WRONG, ""))
            strictly = response in (RIGHT, NO_FORMAT, REPEATED, SECOND_PREFILL)
            assert given.right == (strictly or (preset == "tom-rl" and response == EITHER))


def test_what_cannot_be_graded_earns_least_and_says_why() -> None:
    preset, broken = load_preset("tom-rl"), replace(EXAMPLE, answer=None)  # type: ignore[arg-type]
    given = safe_reward(preset, RIGHT, broken)
    assert given.score == preset.least.form + preset.least.answer and not given.right
    assert given.grade == Grade(False, False, False, None)
    assert given.error is not None and "NoneType" in given.error


def test_unknown_preset_lists_those_there_are() -> None:
    with pytest.raises(UserError, match=r"'grand'.*tom-rl, tom-rl-strict, tom-rl-text, rlvr"):
        load_preset("grand")


def test_only_fidelity_loads_the_belief_engine() -> None:
    code = (
        "import sys; from pipeline.reward.presets import load_preset; load_preset(sys.argv[1]); "
        "print('pipeline.reward.fidelity' in sys.modules)"
    )
    for preset in REWARDS:
        command = [sys.executable, "-c", code, preset]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == str(preset == "fidelity"), preset
