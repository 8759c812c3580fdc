"""Fidelity: true reasoning that leads to the answer earns; silence, copying and hedging do not."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import pytest

from pipeline.base.plugins import REWARDS
from pipeline.config.sources import ExploreTomSource, GeneratedSource, HiTomSource
from pipeline.data.generated import stories
from pipeline.reward.fidelity import fidelity
from pipeline.reward.presets import load_preset, reward, safe_reward
from pipeline.reward.reward import Fidelity
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.tom.language import HI_TOM

FIDELITY = load_preset("fidelity")
STORY = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nAnn moved it to the blue_jar."
    "\nAnn left.\nBob moved it to the green_bag.\nBob left.\nCleo moved it to the tin."
)
QUESTION = "Where does Ann think Bob thinks the hat is?"
EXAMPLE = Example("hi_tom_style", "hi_tom_style_train", STORY, QUESTION, "blue_jar")
BOB, ANN = "Bob thinks the hat is in the green_bag.", "Ann thinks Bob thinks the hat is in the "


def checked(reasoning: str, example: Example = EXAMPLE) -> Fidelity:
    found = fidelity(f" {reasoning}</think><answer> blue_jar</answer>", example)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("reasoning", "score"),
    [
        (f"{BOB} {ANN}blue_jar.", 1.0),
        (f"{ANN}blue_jar.", 0.5),  # what Bob really thinks is missing
        (BOB, 0.5),
        (f"{BOB} {ANN}tin.", 0.25),  # half true, half of the chain
        (f"{ANN}tin. {ANN}green_bag.", 0.0),
        ("", 0.0),
        ("The answer is clear.", 0.0),
        (STORY, 0.0),
        (QUESTION, 0.0),
        (f"{BOB} " * 50, 0.5),  # repetition is one claim
        ("The hat is really in the tin.", 0.0),  # true, and beside the point
    ],
)
def test_scores(reasoning: str, score: float) -> None:
    assert checked(reasoning).score == pytest.approx(score)


def test_places_that_the_story_does_not_have_are_claims_too() -> None:
    assert checked(f"{BOB} {ANN}garage.") == Fidelity(2, 1, 2, 1)
    known = "Ann's last known location of the hat is the trunk."
    assert checked(known).made == 0
    asked = replace(EXAMPLE, choices=("A. trunk", "B. blue_jar"))
    assert checked(known, asked) == Fidelity(1, 0, 2, 0)


def test_naming_every_container_does_not_pay() -> None:
    places = ("red_box", "blue_jar", "green_bag", "tin")
    hedge = " ".join(f"{who}{p}." for p in places for who in (ANN, "Bob thinks the hat is in the "))
    assert checked(hedge).score == pytest.approx(0.25)


def test_claims_that_stand_in_the_story_are_not_the_responses_own() -> None:
    told = Example("tomi", "tomi", f"{STORY}\n{BOB}", QUESTION, "blue_jar")
    assert fidelity(f"{BOB}</think>", told) is None  # not ToMi's language either
    question = f"{QUESTION} ({BOB})"
    copied = Example("hi_tom_style", "hi_tom_style_train", STORY, question, "blue_jar")
    assert checked(BOB, copied).made == 0


def test_reasoning_that_never_ends_is_none() -> None:
    found = fidelity(f"{BOB} {ANN}blue_jar.", EXAMPLE)
    assert found is not None and found.made == 0


SOURCES: tuple[GeneratedSource, ...] = (
    HiTomSource(kind="hi_tom_style", telling="brief", chapters=3, tell=True, noise=0.3),
    HiTomSource(kind="hi_tom_style", tell=True, chapters=2),
    ExploreTomSource(kind="explore_tom_style"),
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: f"{s.kind} {s.telling}")
def test_every_trace_of_the_engine_is_faithful(source: GeneratedSource) -> None:
    checked = 0
    for told in stories(source, "train", 20):
        for row in told:
            example = Example(source.kind, "t", row["story"], row["question"], row["answer"])
            found = fidelity(f" {row['trace']}</think>", example)
            if found is not None and row["trace"]:
                assert found.score == 1, row
                checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("reasoning", "score"),
    [
        ("Ann left before the hat was moved.", 1.1),
        (f"{STORY} So it is there.", 1.1),
        ("", 0.6),
        (" \n. ", 0.6),
        (STORY, 0.6),
        (STORY.replace("\n", " ").upper(), 0.6),
        (f"{QUESTION} {QUESTION} Ann left. Bob left.", 0.6),
        ("Ann moved it", 0.6),
        ("no end", 0.0),
    ],
)
def test_an_empty_or_copied_trace_earns_nothing_anywhere(reasoning: str, score: float) -> None:
    example = Example("opentom", "hi_tom_style_train", STORY, QUESTION, "blue_jar")
    tail = "" if reasoning == "no end" else "</think><answer> blue_jar</answer>"
    given = reward(FIDELITY, reasoning + tail, example)
    assert given.earned.fidelity is None and given.score == pytest.approx(score)


def test_the_brief_telling_in_full() -> None:
    assert "Ann exited the hall.\nBob moved the hat to the green_bag." in HI_TOM.in_full(STORY)


def test_the_preset_mixes_answer_and_reasoning() -> None:
    faithful = f" {BOB} {ANN}blue_jar.</think>"
    for tail, part in (("<answer> blue_jar</answer>", 1.0), ("<answer> tin</answer>", 0.0)):
        given = reward(load_preset("fidelity", {"weight": 0.3}), faithful + tail, EXAMPLE)
        assert given.earned.answer == pytest.approx(0.7 * part)
        assert given.earned.reasoning == pytest.approx(0.3)
        assert given.score == pytest.approx(0.1 + 0.7 * part + 0.3)
    broken = reward(FIDELITY, faithful, EXAMPLE)
    assert broken.score == 0  # no answer, so the format fails
    silent = reward(FIDELITY, "</think><answer> blue_jar</answer>", EXAMPLE)
    assert silent.earned.reasoning == 0 and silent.score == pytest.approx(0.6)


def test_weight_nought_is_the_preset_of_study_2() -> None:
    for response in (f"{BOB}</think><answer> blue_jar</answer>", "</think>", ""):
        without = reward(load_preset("fidelity", {"weight": 0}), response, EXAMPLE)
        assert without.score == reward(load_preset("rlvr"), response, EXAMPLE).score


@pytest.mark.parametrize("preset", REWARDS)
def test_a_grader_that_raises_gives_the_score_of_an_empty_response(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = reward(load_preset(preset), "", EXAMPLE).score

    def grade(*_: object) -> Grade:
        raise RecursionError("too deep")

    monkeypatch.setattr(registry.Task, "grade", grade)
    given = safe_reward(load_preset(preset), "anything", EXAMPLE)
    assert given.score == empty and given.error == "RecursionError: too deep"


UNITS = (
    "<think>",
    "</answer>",
    "<answer>",
    "Ann thinks ",
    "Ann thinks that ",
    "A",
    "the hat is really in ",
    " ",
    "\n",
    "Ann thinks the hat is in the tin ",
    "é\u202e\0",
)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("preset", [*REWARDS, "fidelity, unreadable"])
def test_a_hostile_megabyte_takes_time_by_its_length(preset: str, unit: str) -> None:
    preset, _, unreadable = preset.partition(", ")
    example = replace(EXAMPLE, benchmark="opentom") if unreadable else EXAMPLE

    def seconds(length: int) -> float:
        response = unit * (length // len(unit)) + "</think><answer> blue_jar</answer>"
        start = time.process_time()
        reward(load_preset(preset), response, example)
        return time.process_time() - start

    seconds(2**18)
    whole, quarter = (min(seconds(length) for _ in range(3)) for length in (2**20, 2**18))
    # Four times as long; sixteen if it were quadratic. A slow processor takes 0.05 s at rest.
    assert whole < 0.05 or whole < min(0.1, 8 * quarter)


def test_noise_never_raises() -> None:
    random = Random(0)
    pieces = (*UNITS, "</think>", BOB, ANN, "blue_jar", "</answer>", "{", "\\boxed{")
    for _ in range(500):
        response = "".join(random.choices(pieces, k=random.randrange(12)))
        for preset in REWARDS:
            given = safe_reward(load_preset(preset), response, EXAMPLE)
            assert given.error is None
