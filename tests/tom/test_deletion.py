"""Twins made by leaving out one event: of one's own stories, and of all that Hi-ToM published."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pipeline.tasks.example import Example, pairs_of
from pipeline.tasks.registry import get
from pipeline.tom.deletion import Deletion, deletions, is_well_formed
from pipeline.tom.parse.hi_tom import parse_question, parse_story
from pipeline.tom.solve import solve

STORY = """Ann, Bob and Cleo entered the hall.
The hat is in the red_box.
Ann exited the hall.
Bob moved the hat to the blue_jar.
Bob exited the hall.
Cleo moved the hat to the green_case.
Cleo exited the hall.
Ann, Bob and Cleo entered the waiting_room.
Cleo privately told Ann that the hat is in the white_bag now."""
PLACES = ("red_box", "blue_jar", "green_case", "white_bag")


def found(question: str, *choices: str) -> list[Deletion]:
    return list(deletions(parse_story(STORY).events, parse_question(question), choices or PLACES))


def test_what_can_be_left_out_depends_on_who_is_asked_about() -> None:
    assert found("Where does Bob really think the hat is?") == [
        Deletion(3, "move", "red_box"),
        Deletion(4, "exit", "green_case"),
    ]
    # What Ann was told hides what she saw, unless she leaves last: then she believes nobody.
    assert found("Where does Ann really think the hat is?") == [
        Deletion(2, "exit", "green_case"),
        Deletion(8, "claim", "red_box"),
    ]
    assert found("Where does Ann really think the hat is?", "white_bag", "blue_jar") == []


@pytest.mark.parametrize(
    "story",
    [
        "The hat is in the red_box. Bob moved the hat to the red_box.",
        "The hat is in the red_box. Bob moved the hat to the blue_jar. The hat is in the red_box.",
        "The hat is in the red_box. Bob exited the hall. Bob exited the hall.",
        "Bob exited the hall. Bob made no movements and stayed in the hall for 1 minute.",
        "The hat is in the red_box. Ann and Bob entered the den. Bob moved the hat to the jar.",
    ],
)
def test_what_cannot_happen_is_refused(story: str) -> None:
    events = parse_story(f"Ann and Bob entered the hall. {story}").events
    assert not is_well_formed(events)
    assert is_well_formed(events[:-1])


@pytest.fixture(scope="module")
def examples(mirror: Path) -> list[Example]:
    return get("hi_tom_pairs").examples(mirror)


def test_twins_of_hi_tom_lack_one_sentence_and_have_another_answer(
    examples: list[Example],
) -> None:
    twins = pairs_of(examples)
    assert 2 * len(twins) == len(examples) == len({example.id for example in examples})
    for first, second in twins.values():
        published, twin = examples[first], examples[second]
        lines, fewer = published.story.splitlines(), twin.story.splitlines()
        gone = [place for place in range(len(lines)) if lines[:place] + lines[place + 1 :] == fewer]
        assert len(gone) == 1 or lines[gone[0]] == lines[gone[-1]]
        said = {"move": " moved ", "exit": " exited ", "claim": "ly "}[twin.meta["intervention"]]
        assert said in lines[gone[0]]
        assert published.answer != twin.answer and {published.answer, twin.answer} <= set(
            published.choices or ()
        )
        for each in (published, twin):
            assert is_well_formed(parse_story(each.story).events) or each is published
            found = solve("hi_tom", each.story, each.question, each.choices)
            assert found.answer == each.answer


def test_every_order_has_twins_and_they_are_drawn_alike(
    examples: list[Example], mirror: Path
) -> None:
    half = [example for example in examples if example.meta["member"] == "hidden"]
    orders = Counter(example.order for example in half)
    assert set(orders) == {1, 2, 3, 4} and min(orders.values()) >= 70, orders
    kinds = Counter(str(example.meta["intervention"]) for example in half)
    assert kinds.keys() == {"move", "exit", "claim"} and min(kinds.values()) >= 15, kinds
    again = get("hi_tom_pairs").examples(mirror)
    assert [example.id for example in again] == [example.id for example in examples]
