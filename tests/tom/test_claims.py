"""Reading belief claims: what is one, whose, about when; and how well on real responses."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pipeline.tom.claims.reader import EARLIER, END, BeliefClaim, ReadStory, read_claims, read_story
from pipeline.tom.claims.words import ROLES, Vocabulary
from pipeline.tom.language import EXPLORE_TOM, HI_TOM
from pipeline.tom.rules import HI_TOM as RULES
from tests.conftest import PROJECT

NAMES = Vocabulary(
    people=frozenset({"Ann", "Bob", "Cleo"}),
    objects=frozenset({"hat", "sweet_potato"}),
    containers=frozenset({"red_box", "blue_jar", "green_bag"}),
    rooms=frozenset({"hall"}),
)
STORY = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nBob exited the hall.\n"
    "Ann moved the hat to the blue_jar.\nAnn exited the hall.\nCleo exited the hall."
)
Short = tuple[str, str, bool, str]  # "Ann Bob", place, negated, when


def shortly(claims: list[BeliefClaim]) -> list[Short]:
    return [(" ".join(c.holders), c.place, c.negated, c.when) for c in claims]


def said(text: str, thing: str = "hat") -> list[Short]:
    return shortly(read_claims(text, NAMES, thing))


def told(story: str = STORY) -> ReadStory:
    return read_story(HI_TOM, story, RULES)


@pytest.mark.parametrize(
    ("text", "holders"),
    [
        ("The hat is in the red_box.", ""),
        ("The hat ends up in the red_box.", ""),
        ("So the hat is actually in the red box.", ""),
        ("The last known location of the hat is the red_box.", ""),
        ("Ann thinks the hat is in the red_box.", "Ann"),
        ("<think>Ann thinks the hat is in the red_box.</think>", "Ann"),
        ("Ann would still believe that it is in the red_box.", "Ann"),
        ("From Ann's perspective the hat is still in the red_box.", "Ann"),
        ("According to Ann, the hat is in the red_box.", "Ann"),
        ("Ann left early. As far as she knows, the hat is in the red_box.", "Ann"),
        ("Ann left. Therefore she thinks the hat is in the red_box.", "Ann"),
        ("Ann's belief: the hat is in the red_box.", "Ann"),
        ("- **Ann**: The hat is in the red_box.", "Ann"),
        ("Ann's last known location of the hat is the red_box.", "Ann"),
        ("The red_box is where Ann thinks the hat is.", "Ann"),
        ("The red_box where Ann believes it is.", "Ann"),
        ("Ann who left thinks the hat is in the red_box.", "Ann"),
        ("Ann knows that Bob moved the hat to the red_box.", "Ann"),
        ("Ann moved the hat to the red_box, so she knows this.", "Ann"),
        ("Ann leaves thinking the hat is in the red_box.", "Ann"),
        ("Ann thinks it is where she last saw it, which is the red_box.", "Ann"),
        ("Ann thinks Bob thinks the hat is in the red_box.", "Ann Bob"),
        ("Ann would think that Bob saw it in the red_box.", "Ann Bob"),
        ("Ann thinks Bob, who left first, believes it is in the red_box.", "Ann Bob"),
        ("Ann thinks that Bob's belief is that it is in the red_box.", "Ann Bob"),
        ("Bob thinks Cleo thinks Ann thinks it is in the red_box.", "Bob Cleo Ann"),
        ("Where does Bob think it is? Bob thinks that it's in the red_box.", "Bob"),
    ],
)
def test_a_claim_and_its_holders(text: str, holders: str) -> None:
    assert (holders, "red_box", False, END) in said(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ann moved the hat to the red_box.",
        "Ann last saw the hat in the red_box.",
        "Bob told Ann that the hat is in the red_box.",
        "Ann publicly claimed that the hat is in the red_box.",
        "Ann knows that Bob told her the hat is in the red_box.",
        "Ann was in the hall.",
        "Ann does not know where the hat is.",
        "The question is where Ann thinks the hat is.",
        "It is unclear who thinks the hat is in the red_box.",
        "There is no sign that Ann knows it is in the red_box.",
        "The hat is in the red_box or the blue_jar.",
        "If the hat is in the red_box, all is well.",
        "The others think it is in the red_box.",
        "reasoning process here",
        "So the final answer is the red_box.",
        "</think><answer>Ann thinks the hat is in the red_box</answer>",
        '{"thinking": "Step by step.", "answer": "Ann thinks the hat is in the red_box."}',
    ],
)
def test_what_is_no_claim(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "holders"),
    [
        ("Ann does not know that the hat is in the red_box.", "Ann"),
        ("Ann is unaware of the move of the hat to the red_box.", "Ann"),
        ("Ann would not know that Bob moved it to the red_box.", "Ann"),
        ("Ann has no knowledge of the hat being in the red_box.", "Ann"),
        ("The hat is not in the red_box.", ""),
        ("Bob claims the hat is in the red_box, which is false.", ""),
    ],
)
def test_negation(text: str, holders: str) -> None:
    assert said(text) == [(holders, "red_box", True, END)]


@pytest.mark.parametrize(
    "text",
    [
        "Initially, the hat was in the red_box.",
        "When Ann leaves, the hat is in the red_box.",
        "The hat is in the red_box when Ann leaves.",
        "The hat is now in the red_box. Then Bob moves it. The hat is now in the blue_jar.",
    ],
)
def test_the_world_at_a_former_moment(text: str) -> None:
    assert said(text)[0] == ("", "red_box", False, EARLIER)


def test_a_belief_at_a_former_moment_is_about_the_end_unless_it_changes() -> None:
    left = "When Ann leaves, she thinks the hat is in the red_box."
    assert said(left) == [("Ann", "red_box", False, END)]
    later = f"{left} In the end Ann thinks the hat is in the blue_jar."
    assert said(later) == [("Ann", "red_box", False, EARLIER), ("Ann", "blue_jar", False, END)]


def test_several_people_and_several_clauses() -> None:
    assert said("Both Ann and Bob think the hat is in the red_box.") == [
        ("Ann", "red_box", False, END),
        ("Bob", "red_box", False, END),
    ]
    assert said("Ann thinks it is in the red_box, but Bob knows it is in the blue_jar.") == [
        ("Ann", "red_box", False, END),
        ("Bob", "blue_jar", False, END),
    ]
    moved = "Ann knows it was moved to the red_box and then to the blue_jar."
    assert said(moved) == [("Ann", "red_box", False, EARLIER), ("Ann", "blue_jar", False, END)]


def test_a_claim_counts_once_and_knows_where_it_stands() -> None:
    text = "Well. Ann thinks the hat is in the red box. Ann thinks the hat is in the red_box."
    (claim,) = read_claims(text, NAMES, "hat")
    assert text[claim.start : claim.end] == "Ann thinks the hat is in the red box"


def test_names_of_several_words_and_the_object_meant() -> None:
    text = "Ann thinks the sweet potato is in the red box. Bob thinks it is in the blue-jar."
    claims = read_claims(text, NAMES, "hat")
    assert [(c.object, c.place) for c in claims] == [
        ("sweet_potato", "red_box"),
        ("sweet_potato", "blue_jar"),
    ]


def test_sentences_of_the_story_are_no_claims() -> None:
    assert told().claims(STORY, "hat") == []


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("Ann thinks the hat is in the blue_jar.", True),
        ("Ann thinks the hat is in the red_box.", False),
        ("Ann thinks Bob thinks the hat is in the red_box.", True),
        ("Bob thinks Ann thinks the hat is in the blue_jar.", False),
        ("Bob does not know that the hat is in the blue_jar.", True),
        ("Ann does not know that the hat is in the blue_jar.", False),
        ("Initially the hat was in the red_box.", True),
        ("Initially the hat was in the blue_jar.", True),  # at some moment it was
        ("So it is in the hall.", True),
    ],
)
def test_the_engine_says_what_is_true(text: str, true: bool) -> None:
    story = told()
    assert [story.holds(claim) for claim in story.claims(text, "hat")] == [true]


def test_rooms_are_those_that_things_were_brought_to() -> None:
    text = (
        "Ann entered the kitchen. Ann moved the hat to the table, which is also located in the "
        "kitchen. Ann left the kitchen. Ann entered the hall."
    )
    story = read_story(EXPLORE_TOM, text, EXPLORE_TOM.rules["plain"], "hat")
    claims = story.claims("The hat is in the kitchen. Ann thinks the hat is in the hall.", "hat")
    assert [story.holds(claim) for claim in claims] == [True, False]


def test_every_word_has_one_role() -> None:
    assert all(word == word.lower() for word in ROLES)


def test_time_grows_with_length_only() -> None:
    """Hostile text: a linear reader goes through the longest text at once."""
    for text in ("Ann thinks that " * 2000, "((((" * 8000, "Ann, " * 5000, "red_box or " * 2000):
        read_claims(text, NAMES, "hat")


def recorded(name: str) -> list[dict[str, str]]:
    path = Path(os.environ.get("TOMRL_DATA_MIRROR") or "/nowhere") / "recorded" / name
    if not path.is_file():
        pytest.skip("TOMRL_DATA_MIRROR names no folder with the recorded responses")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def labelled(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent / "claims" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(name: str) -> tuple[int, int, int]:
    """Claims about the end that were found, made up and missed, over labelled responses."""
    language = HI_TOM
    found = invented = missed = 0
    files: dict[str, list[dict[str, str]]] = {}
    for label in labelled(name):
        rows = files.setdefault(label["file"], recorded(label["file"]))
        row = rows[label["row"]]
        asked = language.question(row["question_old"])
        story = read_story(language, row["story"], RULES, asked.object)
        mine = {
            (c.holders, c.object, c.place, c.negated)
            for c in story.claims(row["model_answer"], asked.object)
            if c.when == END
        }
        gold = {(tuple(h), o, p, n) for h, o, p, n, when in label["claims"] if when == END}
        found += len(mine & gold)
        invented += len(mine - gold)
        missed += len(gold - mine)
    return found, invented, missed


FOUND = {"building": (376, 19, 53), "measuring": (143, 8, 31)}
"""Claims of labelled responses that are found, made up and missed."""


@pytest.mark.parametrize("name", FOUND)
def test_real_responses(name: str) -> None:
    """Labels by hand of what seven models answered; who changes the reader measures again."""
    assert counts(name) == FOUND[name]


@pytest.mark.parametrize("name", FOUND)
def test_the_page_says_how_well_real_responses_are_read(name: str) -> None:
    found, invented, missed = FOUND[name]
    precision, recall = found / (found + invented), found / (found + missed)
    page = (PROJECT / "docs/verdict.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {len(labelled(name))}, .*", page, re.MULTILINE)
    assert row.endswith(f" | {found + missed} | {precision:.2f} | {recall:.2f} |")


def test_a_claim_as_a_row() -> None:
    (claim,) = read_claims("Ann thinks the hat is in the red_box.", NAMES, "hat")
    assert asdict(claim) == {
        "holders": ("Ann",),
        "object": "hat",
        "place": "red_box",
        "negated": False,
        "when": "end",
        "start": 0,
        "end": 36,
    }
