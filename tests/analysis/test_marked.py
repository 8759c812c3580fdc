"""Claims in a response, marked where they stand."""

from __future__ import annotations

from dataclasses import replace

from pipeline.analysis.marked import LONGEST_SHOWN, pieces
from pipeline.judge.items import Item
from pipeline.tasks.example import Example

STORY = (
    "1 Ann, Bob and Cara entered the hall.\n2 The apple is in the blue_box.\n"
    "3 Ann exited the hall.\n4 Bob moved the apple to the red_bag.\n5 Bob exited the hall.\n"
    "6 Cara exited the hall."
)
QUESTION = "Where does Ann think the apple is?"
ITEM = Item(
    Example("hi_tom", "hi_tom", STORY, QUESTION, "blue_box"),
    response="",
    extracted=None,
    right=True,
)


def said(text: str) -> list[tuple[str, bool | None]]:
    return [(piece.text, piece.true) for piece in pieces(replace(ITEM, response=text))]


def test_true_and_false_claims_are_marked_where_they_stand() -> None:
    true, false = (
        "Ann thinks the apple is in the blue_box",
        "Bob thinks the apple is in the blue_box",
    )
    found = said(f"<think>{true}. {false}.</think><answer>blue_box</answer>")
    assert ("".join(text for text, _ in found)) == (
        f"<think>{true}. {false}.</think><answer>blue_box</answer>"
    )
    assert [mark for _, mark in found if mark is not None] == [True, False]


def test_a_response_without_claims_is_one_piece() -> None:
    assert said("I do not know.") == [("I do not know.", None)]
    assert said("") == []


def test_a_story_that_cannot_be_read_has_no_marks() -> None:
    item = replace(
        ITEM, example=replace(ITEM.example, story="Once upon a time.", story_id="", id="")
    )
    text = "Ann thinks the apple is in the blue_box."
    assert [p.true for p in pieces(replace(item, response=text))] == [None]


def test_a_long_response_says_how_much_is_left_out() -> None:
    *_, last = pieces(replace(ITEM, response="word " * LONGEST_SHOWN))
    assert last.text == f" [... {4 * LONGEST_SHOWN} more characters]"
