"""What is counted in a response, claim by claim, and what it earns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.reward.fidelity import LONGEST_GIVEN, fidelity, has_own_words, is_readable
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.reward.reward import Earned, Fidelity, Reward
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.tom.claims.reader import LONGEST_RESPONSE

STORY = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nThe pen is in the tin.\n"
    "Ann moved the hat to the blue_jar.\nAnn exited the hall.\nBob moved the hat to the green_bag."
    "\nBob exited the hall.\nCleo moved the hat to the tin.\nCleo exited the hall."
)
QUESTION = "Where does Ann think Bob thinks the hat is?"
EXAMPLE = Example("hi_tom_style", "hi_tom_style_train", STORY, QUESTION, "blue_jar")
TOMI = (
    "Ann entered the hall.\nBob entered the hall.\nThe hat is in the red_box.\n"
    "Bob exited the hall.\nAnn moved the hat to the blue_jar.\nCleo entered the hall."
)
BOB = "Bob thinks the hat is in the green_bag."
BOTH = f"{BOB} Ann thinks Bob thinks the hat is in the blue_jar."


@pytest.mark.parametrize(
    ("reasoning", "made", "true", "covered"),
    [
        (BOTH, 2, 2, 2),
        (BOB, 1, 1, 1),
        (f"{BOB} Bob thinks the pen is in the tin.", 1, 1, 1),  # of another object
        (f"Bob first thought the hat was in the red_box. Now {BOB}", 1, 1, 1),  # and time
        ("Bob thinks the hat is not in the tin.", 1, 1, 0),  # true, and names no place
        ("Bob thinks the hat is not in the green_bag.", 1, 0, 0),
        (f"Cleo thinks the hat is in the tin. {BOB}", 2, 2, 1),  # and of no one asked about
        ("Cleo thinks the hat is in the tin. Bob thinks the hat is in the tin.", 2, 1, 0),
        ("", 0, 0, 0),
    ],
)
def test_claims_are_counted(reasoning: str, made: int, true: int, covered: int) -> None:
    found = fidelity(f"{reasoning}</think>", EXAMPLE)
    assert found == Fidelity(made, true, decisive=2, covered=covered)
    assert found.score == (true / made * covered / 2 if made else 0)


def test_about_the_world_the_world_decides() -> None:
    example = replace(EXAMPLE, question="Where is the hat really?", answer="tin")
    found = fidelity("The hat is really in the tin. Bob thinks it is in the jar.</think>", example)
    assert found is not None and (found.decisive, found.covered) == (1, 1)
    assert Fidelity(made=3, true=2, decisive=0, covered=0).score == 0


def test_only_so_much_of_a_response_and_of_a_story_is_read() -> None:
    padding = "x.  " * (LONGEST_RESPONSE // 4)
    late, early = (f"{text}</think>" for text in (padding + BOTH, BOTH + padding))
    assert [fidelity(text, EXAMPLE).made for text in (early, late)] == [2, 0]  # type: ignore[union-attr]
    told = replace(EXAMPLE, story="x. x.")
    assert not has_own_words(late, told) and has_own_words(early, told)
    longer = replace(EXAMPLE, story="x " * (LONGEST_GIVEN // 2) + BOB, question="y " * 60_000 + BOB)
    assert has_own_words(f"{BOB}</think>", longer)
    assert not has_own_words(f"{BOB}</think>", replace(longer, question=BOB))
    assert not has_own_words(f"{BOB}</think>", replace(longer, story=BOB))


def test_what_cannot_be_checked() -> None:
    tomi = Example("tomi", "tomi", TOMI, "Where is the hat really?", "blue_jar")
    assert is_readable(tomi)
    for other in (
        replace(tomi, question="Where was the hat at the beginning?"),
        replace(tomi, question="Is it so?"),
        replace(tomi, story=""),
        replace(tomi, story="Once upon a time."),
        replace(tomi, benchmark="fantom"),
    ):
        assert not is_readable(other) and fidelity(BOTH, other) is None


def test_a_benchmark_is_read_as_labelled_and_its_style_as_it_says() -> None:
    """Upstream's third agent tells mover and bystander what each other knows."""
    question = "Where does Ann think that Bob searches for the hat?"
    claim = "Ann thinks Bob thinks the hat is in the {}.</think>"
    for benchmark, place in (("tomi", "blue_jar"), ("tomi_retold", "red_box")):
        example = Example(benchmark, benchmark, TOMI, question, place)
        held = {
            said: fidelity(claim.format(said), example).true  # type: ignore[union-attr]
            for said in ("red_box", "blue_jar")
        }
        assert held == {"red_box": place == "red_box", "blue_jar": place == "blue_jar"}


def test_the_figures_of_a_reward() -> None:
    grade = Grade(correct=True, strict=False, format_ok=True, extracted="x")
    earned = Earned(0.25, 0.5, 0.125, Fidelity(made=4, true=3, decisive=2, covered=1))
    assert Reward(earned, grade, right=True).figures() == {
        **{"score": 0.875, "acc": 1, "format": 1, "format_reward": 0.25, "answer_reward": 0.5},
        **{"fidelity_reward": 0.125, "checked": 1, "fidelity": 0.375, "claims": 4},
        **{"claims_true": 3, "error": 0},
    }
    bad = replace(grade, format_ok=False)
    assert Reward(Earned(-1, -2), bad, error="late").figures() == {
        **{"score": -3, "acc": 0, "format": 0, "format_reward": -1, "answer_reward": -2},
        **{"fidelity_reward": 0, "checked": 0, "fidelity": 0, "claims": 0, "claims_true": 0},
        "error": 1,
    }


def test_reasoning_is_paid_in_the_form_asked_for_only() -> None:
    preset = load_preset("fidelity", {"weight": 0.25})
    answer = "<answer> blue_jar</answer>"
    for text, score in (
        (f"{BOTH}</think>{answer}", 0.1 + 0.75 + 0.25),
        (f"{BOB}</think>{answer}", 0.1 + 0.75 + 0.125),
        (f"{BOTH}</think>{answer}{answer}", 0.0),
    ):
        assert safe_reward(preset, text, EXAMPLE).score == pytest.approx(score)
    assert preset.applies_to(EXAMPLE)
    assert not preset.applies_to(replace(EXAMPLE, story=""))
    assert load_preset("rlvr").applies_to(replace(EXAMPLE, story=""))
