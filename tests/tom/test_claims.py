"""Reading belief claims: what is one, whose, about when; and how well on real responses."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pipeline.tom.claims.reader import END, ReadStory, read_claims, read_story
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


def told(story: str = STORY) -> ReadStory:
    return read_story(HI_TOM, story, RULES)


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
    assert told().claims(STORY, "hat") == told().claims("", "hat") == []


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


def recorded(mirror: Path, name: str) -> list[dict[str, str]]:
    with (mirror / "recorded" / name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def labelled(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent / "claims" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(mirror: Path, name: str) -> tuple[int, int, int]:
    """Claims about the end that were found, made up and missed, over labelled responses."""
    language = HI_TOM
    found = invented = missed = 0
    files: dict[str, list[dict[str, str]]] = {}
    for label in labelled(name):
        rows = files.setdefault(label["file"], recorded(mirror, label["file"]))
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
def test_real_responses(mirror: Path, name: str) -> None:
    """Labels by hand of what seven models answered; who changes the reader measures again."""
    assert counts(mirror, name) == FOUND[name]


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
