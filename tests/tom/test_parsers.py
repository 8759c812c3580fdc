"""Texts in the benchmarks' own words, turned into events."""

from __future__ import annotations

import pytest

from pipeline.tom.parse import explore_tom, hi_tom, tomi
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import (
    BEFORE,
    BEGINNING,
    KnowsQuestion,
    StateQuestion,
    WhereQuestion,
)
from pipeline.tom.story import (
    Aside,
    Carry,
    Change,
    Claim,
    Discuss,
    Enter,
    Exit,
    Move,
    Place,
    Present,
    Remark,
    Report,
    Stay,
)

HI_TOM = """1 Ann, Bob and Cleo entered the hall.
2 The hat is in the red_box.
3 Ann moved the hat to the blue_jar.
4 Bob likes the red_box.
5 Bob made no movements and stayed in the hall for 1 minute.
6 Ann exited the hall.
7 Ann publicly claimed that hat is in the red_box.
8 Bob privately told Cleo that the hat is in the blue_jar now.
"""
HI_TOM_EVENTS = (
    Enter(("Ann", "Bob", "Cleo"), "hall"),
    Place("hat", "red_box", "hall"),
    Move("Ann", "hat", "blue_jar"),
    Remark("Bob likes the red_box."),
    Stay("Bob", "hall"),
    Exit("Ann", "hall"),
    Claim("Ann", None, "hat", "red_box"),
    Claim("Bob", "Cleo", "hat", "blue_jar"),
)


def without_numbers(text: str) -> str:
    return " ".join(line.split(" ", 1)[1] for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        HI_TOM,
        without_numbers(HI_TOM),
        HI_TOM + "\n\n***\n",
        "Read the following story and answer the question. Think.\n" + HI_TOM,
    ],
)
def test_hi_tom_story(text: str) -> None:
    assert hi_tom.parse_story(text).events == HI_TOM_EVENTS


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("Where is the hat really?", ()),
        ("Where does Ann really think the hat is?", ("Ann",)),
        ("Where does Ann think Bob thinks the hat is? (red_box / blue_jar)", ("Ann", "Bob")),
        ("Where does Ann think Bob thinks Cleo thinks the hat is?", ("Ann", "Bob", "Cleo")),
    ],
)
def test_hi_tom_question(text: str, chain: tuple[str, ...]) -> None:
    assert hi_tom.parse_question(text) == WhereQuestion("hat", chain)


TOMI = """1 Ann is in the hall.
2 Bob loves the plum
3 Bob entered the hall.
4 The t-shirt is in the box.
5 Bob exited the hall.
6 Ann moved the t-shirt to the jar.
7 Cleo hates the hat
"""
TOMI_EVENTS = (
    Present("Ann", "hall"),
    Remark("Bob loves the plum"),
    Enter(("Bob",), "hall"),
    Place("t-shirt", "box", "hall"),
    Exit("Bob", "hall"),
    Move("Ann", "t-shirt", "jar"),
    Remark("Cleo hates the hat"),
)


@pytest.mark.parametrize("text", [TOMI, without_numbers(TOMI)])
def test_tomi_story_with_and_without_numbers(text: str) -> None:
    assert tomi.parse_story(text).events == TOMI_EVENTS


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (" Where was the hat at the beginning?", WhereQuestion("hat", when=BEGINNING)),
        ("Where is the hat really?", WhereQuestion("hat")),
        ("Where will Ann look for the t-shirt?", WhereQuestion("t-shirt", ("Ann",))),
        (
            "Where does Ann think that Bob searches for the hat?",
            WhereQuestion("hat", ("Ann", "Bob")),
        ),
    ],
)
def test_tomi_question(text: str, question: WhereQuestion) -> None:
    assert tomi.parse_question(text) == question


EXPLORE = (
    "Ann entered the front hall. Bob entered the front hall. "
    "Ann moved the small, old hat to the tin box, which is also located in the front hall. "
    "While this action was happening, Cleo and Dan witnessed this action in secret (and only this "
    "action); also, Bob got distracted and did not realize what happened, without anyone noticing "
    "the brief lack of attention, and going back to paying attention immediately after the action "
    "was finished. "
    "Ann tied a ribbon around the small, old hat Bob left the front hall. "
    "Ann told privately to Bob that the small, old hat is in the tin box. "
    "Ann told privately to Bob that Ann is in the front hall. "
    "Ann told out loud about the rent increase. "
    "Ann moved the small, old hat to the attic, leaving the tin box in its original location."
)
EXPLORE_EVENTS = (
    Enter(("Ann",), "front hall"),
    Enter(("Bob",), "front hall"),
    Aside(Move("Ann", "small, old hat", "tin box"), ("Cleo", "Dan"), ("Bob",)),
    Change("Ann", "small, old hat", "tied a ribbon around the small, old hat"),
    Exit("Bob", "front hall"),
    Report("Ann", "Bob", "small, old hat", "container", "tin box"),
    Report("Ann", "Bob", "Ann", "room", "front hall"),
    Discuss("Ann", None, "rent increase"),
    Carry("Ann", "small, old hat", "attic", "tin box"),
)


def test_explore_tom_story_with_a_missing_full_stop_and_asides() -> None:
    assert explore_tom.parse_story(EXPLORE).events == EXPLORE_EVENTS


def test_explore_tom_finds_the_object_of_state_updates_by_hint_or_repetition() -> None:
    once = "Ann entered the hall. Ann dyed the old hat in the tub."
    assert explore_tom.parse_story(once).events[1] == Change(
        "Ann", None, "dyed the old hat in the tub"
    )
    hinted = explore_tom.parse_story(once, ["old hat"]).events[1]
    assert hinted == Change("Ann", "old hat", "dyed the old hat in the tub")
    twice = explore_tom.parse_story(once + " Ann ironed the old hat.").events[2]
    assert twice == Change("Ann", "old hat", "ironed the old hat")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("In which container will Ann search for the hat?", WhereQuestion("hat", ("Ann",))),
        (
            "In which room does Ann think that Bob will search for the hat?",
            WhereQuestion("hat", ("Ann", "Bob"), "room"),
        ),
        (
            "In which container was the hat at the beginning?",
            WhereQuestion("hat", when=BEGINNING),
        ),
        ("In which room is the hat now?", WhereQuestion("hat", aspect="room")),
        (
            "In which container was the hat before Ann moved the hat to the box?",
            WhereQuestion("hat", when=BEFORE, event="Ann moved the hat to the box"),
        ),
        (
            "Does Ann know about rent? Answer yes or no.",
            KnowsQuestion("rent", ("Ann",)),
        ),
        (
            "What does Ann think about Bob's belief on the club's rent? (knows about it / no)",
            KnowsQuestion("the club's rent", ("Ann", "Bob")),
        ),
        (
            "Does Ann think that Bob believes that the hat is red? Answer yes or no.",
            StateQuestion("hat is red", ("Ann", "Bob")),
        ),
        (
            "Does Ann believe that the hat is red? Answer yes or no.",
            StateQuestion("hat is red", ("Ann",)),
        ),
    ],
)
def test_explore_tom_question(text: str, question: object) -> None:
    assert explore_tom.parse_question(text) == question


@pytest.mark.parametrize(
    ("parse", "text", "number", "why"),
    [
        (hi_tom.parse_story, "Ann entered the hall. Ann flew away.", 2, "Ann flew away"),
        (hi_tom.parse_story, "The hat is in the box.", 1, "nobody has entered"),
        (
            hi_tom.parse_story,
            "Ann entered the hall. The hat is in the box. Bob moved the hat to the jar.",
            3,
            "Bob is in no room",
        ),
        (tomi.parse_story, "1 Ann entered the hall.\n2 Ann entered hall.", 2, "Ann entered hall."),
        (explore_tom.parse_story, "Ann entered the hall. It rained.", 2, "It rained"),
        (explore_tom.parse_story, "Ann entered the hall. Ann moved the hat.", 2, "moved the hat"),
        (
            explore_tom.parse_story,
            "While this action was happening, Ann witnessed this action in secret (and only this "
            + "action).",
            1,
            "follows no action",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_number(
    parse: object, text: str, number: int, why: str
) -> None:
    with pytest.raises(ParseError, match=f"sentence {number} ") as caught:
        parse(text)  # type: ignore[operator]
    assert why in str(caught.value)


@pytest.mark.parametrize("module", [hi_tom, tomi, explore_tom])
def test_what_is_no_question_is_refused(module: object) -> None:
    with pytest.raises(ParseError, match="not a question"):
        module.parse_question("Why?")  # type: ignore[attr-defined]
