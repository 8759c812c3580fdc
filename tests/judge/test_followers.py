"""What rules and simpler minds say to questions, at the edges."""

from __future__ import annotations

import pytest

from pipeline.judge import followers
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.found import Test as Needed
from pipeline.judge.found import least
from pipeline.judge.items import Item
from pipeline.rules.surface import UNDEFINED
from pipeline.tasks.example import Example

STORY = """1 Emma entered the hall.
2 Noah entered the hall.
3 The apple is in the red_box.
4 Noah moved the apple to the blue_box."""
NOW, BEGINNING, OF_EMMA = (
    "Where is the apple really?",
    "Where was the apple at the beginning?",
    "Where will Emma look for the apple?",
)


def said_by(*asked: str) -> dict[str, tuple[Kind, list[str | None]]]:
    """What followers that say something to most of these questions say."""
    examples = [Example("tomi", "tomi", STORY, question, "blue_box") for question in asked]
    return {name: (kind, list(said)) for name, kind, said in Questions.of(examples).said}


def of(*asked: str) -> Questions:
    return Questions.of([Example("tomi", "tomi", STORY, each, "blue_box") for each in asked])


def test_minds_answer_where_something_is_believed_to_be_at_the_end() -> None:
    found = of(NOW, OF_EMMA, BEGINNING)
    assert found.believed == ("blue_box", "blue_box", "red_box")
    assert dict(found.minds) == {
        ("moves unseen",): ["blue_box", "red_box", None],
        ("absence unseen",): ["blue_box", "blue_box", None],  # it says nothing of the beginning
    }


def test_a_mind_that_says_what_a_rule_says_is_that_rule() -> None:
    """*initial* here; a mind that says what the whole engine says is none."""
    assert [(name, kind) for name, (kind, _) in said_by(OF_EMMA).items() if kind.is_mind] == []
    assert said_by(OF_EMMA)["initial"] == (Kind.LISTED, ["red_box"])
    both = of(NOW, OF_EMMA)
    assert ("moves unseen", Kind.MIND) in [(name, kind) for name, kind, _ in both.said]
    alone = both.among([1])
    assert [name for name, kind, _ in alone.said if kind is Kind.MIND] == []


def test_a_follower_speaks_of_more_than_half_of_the_questions() -> None:
    said = said_by(NOW, OF_EMMA, BEGINNING)
    assert said["moves unseen"] == (Kind.MIND, ["blue_box", "red_box", None])
    assert "moves unseen" not in said_by(NOW, OF_EMMA, BEGINNING, BEGINNING)


def test_labels_that_the_engine_contradicts_are_counted() -> None:
    examples = [Example("tomi", "tomi", STORY, OF_EMMA, box) for box in ("red_box", "blue_box")]
    assert Questions.of(examples).contradicted(examples) == [0]


@pytest.mark.parametrize(
    ("answer", "place"),
    [("blue_box", 1), ("The BLUE_BOX.", 1), ("shed", UNDEFINED), (None, UNDEFINED)],
)
def test_an_answer_is_placed_by_what_the_task_accepts(answer: str | None, place: int) -> None:
    example = Example("tomi", "tomi", STORY, NOW, "blue_box")
    (asked,) = Questions.of([example]).asked
    assert asked.candidates == ("red_box", "blue_box")
    assert followers._place_said(asked, Item(example, "", answer, False)) == place


def test_what_only_perfect_answers_pass_is_found_at_one() -> None:
    assert least([Needed(4, 0.5)]) == 1.0
