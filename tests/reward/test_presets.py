"""Reward presets: exact totals of both studies."""

from __future__ import annotations

import pytest

import pipeline.tasks  # noqa: F401  (registers the tasks)
from pipeline.errors import UserError
from pipeline.reward.presets import PRESETS, reward
from pipeline.tasks.example import Example

EXAMPLE = Example("hi_tom_style", "hi_tom_style_train", "s", "q", "red_box")
RIGHT = " Ann left.</think><answer> red_box</answer>"
WRONG = " Ann left.</think><answer> blue_jar</answer>"
NO_FORMAT = "<answer>red_box</answer>"
REPEATED = " a</think></think><answer>red_box</answer>"


@pytest.mark.parametrize(
    ("preset", "scores"),
    [
        ("tom-rl", (3.0, -1.0, -3.0, -3.0)),
        ("tom-rl-text", (3.0, -1.0, 1.0, 1.0)),
        ("rlvr", (1.1, 0.1, 0.0, 0.0)),
    ],
)
def test_totals(preset: str, scores: tuple[float, ...]) -> None:
    for response, score in zip((RIGHT, WRONG, NO_FORMAT, REPEATED), scores, strict=True):
        assert reward(preset, response, EXAMPLE).score == pytest.approx(score), response


def test_parts_add_up_and_the_grade_is_the_graders() -> None:
    for preset in PRESETS:
        for response in (RIGHT, WRONG, NO_FORMAT, REPEATED, ""):
            given = reward(preset, response, EXAMPLE)
            assert given.score == pytest.approx(given.format_part + given.answer_part)
            assert given.grade.correct == (response in (RIGHT, NO_FORMAT, REPEATED))


def test_unknown_preset_lists_those_there_are() -> None:
    with pytest.raises(UserError, match=r"'grand'.*tom-rl, tom-rl-text, rlvr"):
        reward("grand", RIGHT, EXAMPLE)
