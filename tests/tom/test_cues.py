"""Cues and simpler minds on one story told by hand: a glance at the text tells each answer."""

from __future__ import annotations

import pytest

from pipeline.tom.cues import CUES, Naming, namings
from pipeline.tom.language import HI_TOM
from pipeline.tom.minds import MINDS, answers_of_minds, combined
from pipeline.tom.parse.hi_tom import parse_story
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM as RULES
from pipeline.tom.story import Aside, Carry, Report
from tests.tom.guessing import guess

STORY = """Ann, Bob and Cleo entered the hall.
The hat is in the box.
Ann moved the hat to the tin.
Ann exited the hall.
Bob moved the hat to the jar.
Bob exited the hall.
Cleo moved the hat to the bag.
Ann privately told Bob that the hat is in the urn now.
Cleo publicly claimed that hat is in the cup now.
Bob privately told Cleo that the hat is in the pot now.
Cleo privately told Ann that the hat is in the can now."""
EVENTS = parse_story(STORY).events


def cued(name: str, *chain: str) -> str | None:
    return CUES[name](namings(EVENTS, WhereQuestion("hat", chain)), chain)


@pytest.mark.parametrize(
    ("what", "chain", "first", "last"),
    [
        ("claim", "Ann Bob", "urn", "can"),
        ("public claim", "Ann Bob", "cup", "cup"),
        ("private claim", "Ann Bob", "urn", "can"),
        ("claim heard by the innermost agent", "Ann Bob", "urn", "cup"),
        ("claim heard by the innermost agent", "Bob Cleo", "pot", "pot"),
        ("claim heard by the outermost agent", "Ann Bob", "cup", "can"),
        ("claim heard by all agents asked about", "Ann Bob", "cup", "cup"),
        ("claim heard by all agents asked about", "Bob Cleo", None, None),
        ("claim of the innermost agent", "Ann Bob", "pot", "pot"),
        ("claim of the outermost agent", "Cleo Bob", "cup", "can"),
        ("claim of an agent not asked about", "Ann Bob", "cup", "can"),
        ("claim of an agent not asked about", "Cleo", "urn", "pot"),
        ("claim from the outermost to the innermost agent", "Ann Bob", "urn", "urn"),
        ("claim from the outermost to the innermost agent", "Cleo Ann", "cup", "can"),
        ("claim from the outermost to the innermost agent", "Ann", None, None),
        ("move", "Ann Bob", "tin", "bag"),
        ("move of the innermost agent", "Ann Bob", "jar", "jar"),
        ("move of the outermost agent", "Ann Bob", "tin", "tin"),
        ("move of an agent not asked about", "Ann Bob", "bag", "bag"),
        ("move of an agent not asked about", "Cleo", "tin", "jar"),
        ("place", "", "box", "can"),
        ("claim heard by the innermost agent", "", None, None),
        ("claim of the outermost agent", "", None, None),
    ],
)
def test_what_a_cue_picks(what: str, chain: str, first: str | None, last: str | None) -> None:
    assert cued(f"first {what}", *chain.split()) == first
    assert cued(f"last {what}", *chain.split()) == last


def test_the_place_before_the_last_move() -> None:
    assert cued("place before the last move") == "jar"
    still = parse_story("Ann and Bob entered the hall.\nThe hat is in the box.").events
    named = namings(still, WhereQuestion("hat"))
    assert named == (Naming(1, "shown", "box"),)
    assert CUES["place before the last move"](named, ()) is None


def test_only_the_object_and_the_kind_of_place_asked_about_count() -> None:
    assert namings(EVENTS, WhereQuestion("coat")) == ()
    assert [n.place for n in namings(EVENTS, WhereQuestion("hat", aspect="room"))] == ["hall"]
    told = (Carry("Ann", "hat", "attic"), Report("Ann", "Bob", "hat", "room", "attic"))
    rooms = namings((*told, Aside(told[0])), WhereQuestion("hat", aspect="room"))
    assert [(n.kind, n.place, n.by, n.to) for n in rooms] == [
        ("moved", "attic", "Ann", None),
        ("claimed", "attic", "Ann", "Bob"),
        ("moved", "attic", "Ann", None),
    ]
    assert [n.kind for n in namings(told, WhereQuestion("hat"))] == []


@pytest.mark.parametrize(
    ("rule", "question", "answer"),
    [
        ("first_claim", "Where does Ann think Bob thinks the hat is?", "urn"),
        ("last_claim", "Where does Ann think Bob thinks the hat is?", "can"),
        ("claim_to_innermost", "Where does Ann think Bob thinks the hat is?", "cup"),
        ("claim_to_outermost", "Where does Ann think Bob thinks the hat is?", "can"),
        ("claim_to_innermost", "Where is the hat really?", "bag"),
    ],
)
def test_listed_rules_of_claims(rule: str, question: str, answer: str) -> None:
    assert guess(rule, "hi_tom", STORY, question) == answer
    silent = STORY[: STORY.index("Ann privately")].strip()
    fallback = "last" if rule in ("first_claim", "last_claim") else "earliest_exit"
    assert guess(rule, "hi_tom", silent, question) == guess(fallback, "hi_tom", silent, question)


# Ann left before Bob, and Bob before Cleo, who is still there: Ann trusts both, Bob Cleo.
@pytest.mark.parametrize(
    ("chain", "whole", "apart"),
    [
        (
            "Ann",
            "can",
            {
                "private claims ignored": "cup",
                "sight alone": "tin",
                "first claim alone": "cup",
                "trust reversed": "tin",
                "nobody believed": "tin",
            },
        ),
        (
            "Bob",
            "cup",
            {
                "public claims ignored": "jar",
                "sight alone": "jar",
                "first claim alone": "jar",
                "trust reversed": "urn",
                "nobody believed": "jar",
            },
        ),
        (
            "Cleo",
            "bag",
            {"moves unseen": "box", "everybody believed": "pot", "trust reversed": "pot"},
        ),
        (
            "Ann Bob",
            "urn",
            {
                "private claims ignored": "tin",
                "sight alone": "tin",
                "innermost belief": "cup",
                "outermost belief": "can",
                "chain reversed": "tin",
            },
        ),
        (
            "Cleo Ann Bob",
            "tin",
            {
                "moves unseen": "box",
                "absence unseen": "bag",
                "two orders": "urn",
                "innermost belief": "cup",
                "outermost belief": "bag",
            },
        ),
        ("", "bag", {}),
    ],
)
def test_what_a_mind_without_a_faculty_answers(
    chain: str, whole: str, apart: dict[str, str]
) -> None:
    question = WhereQuestion("hat", tuple(chain.split()))
    minds = [(), *((name,) for name in MINDS)]
    found, *lesser = answers_of_minds(EVENTS, question, RULES, minds)
    assert found == whole
    said = dict(zip(MINDS, lesser, strict=True))
    assert {name: answer for name, answer in said.items() if answer != whole} == apart


def test_who_returns_may_learn_nothing_by_it() -> None:
    story = parse_story(
        "Ann and Bob entered the hall.\nThe hat is in the box.\nBob exited the hall.\n"
        "Ann moved the hat to the tin.\nBob entered the hall."
    ).events
    minds = [(), ("returns missed",), ("returns missed", "absence unseen")]
    of_bob = answers_of_minds(story, WhereQuestion("hat", ("Bob",)), RULES, minds)
    assert of_bob == ["tin", "box", "tin"]
    of_ann = answers_of_minds(story, WhereQuestion("hat", ("Ann", "Bob")), RULES, minds)
    assert of_ann == ["tin", "box", "tin"]


def test_a_newcomer_learns_though_who_returns_does_not() -> None:
    story = parse_story(
        "Ann and Bob entered the hall.\nThe hat is in the box.\nBob exited the hall.\n"
        "Ann moved the hat to the tin.\nBob and Cleo entered the hall."
    ).events
    found = [
        answers_of_minds(story, WhereQuestion("hat", (who,)), RULES, [("returns missed",)])
        for who in ("Bob", "Cleo")
    ]
    assert found == [["box"], ["tin"]]


def test_faults_of_different_faculties_are_combined() -> None:
    pairs = combined(tuple(MINDS))
    assert ("sight alone", "two orders") in pairs and len(set(pairs)) == len(pairs)
    assert all(MINDS[one].faculty != MINDS[other].faculty for one, other in pairs)
    question = WhereQuestion("hat", ("Cleo", "Ann", "Bob"))
    assert answers_of_minds(EVENTS, question, RULES, [("sight alone", "two orders")]) == ["tin"]
    assert all(mind.lacks for mind in MINDS.values())
    assert HI_TOM.rules["plain"] == RULES
