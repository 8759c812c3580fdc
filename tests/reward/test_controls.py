"""Rewards for something else than a right answer."""

from __future__ import annotations

import pytest

from pipeline.base.plugins import CONTROLS, REWARDS
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.tasks.example import Example

EXAMPLE = Example("hi_tom_style", "hi_tom_style_train", "s", "q", "red_box")
RIGHT, WRONG = "a</think><answer> red_box</answer>", "a</think><answer> jar</answer>"


def paid(response: str, draws: range) -> list[float]:
    preset = load_preset("random")
    return [safe_reward(preset.drawing(f"0:{draw}"), response, EXAMPLE).score for draw in draws]


def test_half_of_all_responses_are_paid_whatever_they_say() -> None:
    right = paid(RIGHT, range(2000))
    assert right == paid(WRONG, range(2000)) and set(right) == {0.0, 1.0}
    assert 0.46 < sum(right) / len(right) < 0.54


def test_without_a_name_no_two_series_of_draws_are_alike() -> None:
    preset = load_preset("random")
    one, other = ([safe_reward(preset, RIGHT, EXAMPLE).score for _ in range(64)] for _ in "ab")
    assert one != other and set(one) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("name", "right", "wrong", "unformed", "nothing"),
    [("wrong", 0.0, 1.0, 0.0, 0.0), ("form", 1.0, 1.0, 0.0, 0.0)],
)
def test_controls_pay_what_they_say(
    name: str, right: float, wrong: float, unformed: float, nothing: float
) -> None:
    preset = load_preset(name)
    responses = (RIGHT, WRONG, "<answer> jar</answer> <answer> jar</answer>", "")
    earned = [safe_reward(preset, response, EXAMPLE).score for response in responses]
    assert earned == [right, wrong, unformed, nothing]


def test_accuracy_is_measured_as_ever() -> None:
    preset = load_preset("random").drawing("0:1")
    assert [safe_reward(preset, text, EXAMPLE).right for text in (RIGHT, WRONG)] == [True, False]


def test_presets_that_pay_for_something_draw_nothing() -> None:
    assert not set(REWARDS) & set(CONTROLS)
    for name in REWARDS:
        preset = load_preset(name)
        assert preset.drawing("0:1") is preset
