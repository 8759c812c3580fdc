"""The solver, its reasons, the explanation of a story, and the check against labels."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.tom.check import check
from pipeline.tom.explain import explain
from pipeline.tom.language import get_language
from pipeline.tom.parse.text import ParseError
from pipeline.tom.rules import TOMI_PLAIN
from pipeline.tom.solve import solve, split_choices

HI_TOM = (
    "Ann, Bob and Cleo entered the hall. The hat is in the red_box. Bob exited the hall. "
    "Ann moved the hat to the blue_jar. Ann exited the hall. Cleo exited the hall."
)
TOMI = (
    "Ann entered the hall. Bob entered the hall. The hat is in the box. Bob exited the hall. "
    "Cleo entered the hall. Ann moved the hat to the jar."
)
EXPLORE = (
    "Ann entered the hall. Bob entered the hall. "
    "Ann moved the hat to the box, which is also located in the hall. Bob left the hall. "
    "Ann moved the hat to the jar, which is also located in the hall. "
    "Ann told privately to Bob about the rent. Ann dyed the hat a bright red."
)


def test_the_reason_names_the_deciding_sentence() -> None:
    found = solve("hi_tom", HI_TOM, "Where does Ann think Bob thinks the hat is?")
    assert found.answer == "red_box"
    assert "2: The hat is in the red_box." in found.reason


def test_an_undefined_belief_is_said_to_be_so() -> None:
    found = solve("hi_tom", HI_TOM, "Where does Zoe really think the hat is?")
    assert found.answer is None
    assert found.reason == "no sentence tells Zoe the container of the hat"


def test_choices_limit_the_answer() -> None:
    question = "Where is the hat really?"
    assert solve("hi_tom", HI_TOM, question, "A. red_box, B. blue_jar").answer == "blue_jar"
    found = solve("hi_tom", HI_TOM, question, ["red_box", "tin"])
    assert found.answer is None
    assert "'blue_jar', which is not among the choices" in found.reason
    assert split_choices(["A. x", "y"]) == ("x", "y")


def test_tomi_has_three_readings() -> None:
    question = "Where does Ann think that Bob searches for the hat?"
    assert solve("tomi", TOMI, question).answer == "jar"
    assert solve("tomi", TOMI, question, rules=TOMI_PLAIN).answer == "box"
    released = get_language("tomi").rules_named("released")
    assert solve("tomi", TOMI, question, rules=released).answer == "jar"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("In which container will Bob search for the hat?", "box"),
        ("In which container is the hat now?", "jar"),
        ("In which container was the hat at the beginning?", "box"),
        ("In which container was the hat before Ann moved the hat to the jar?", "box"),
        ("In which room does Ann think that Bob will search for the hat?", "hall"),
        ("Does Bob know about rent? Answer yes or no.", "yes"),
        (
            "What does Bob think about Ann's belief on rent? (knows about it / does not)",
            "knows about it",
        ),
        ("Does Bob know about cake? Answer yes or no.", "no"),
        ("Does Bob believe that the hat is bright red? Answer yes or no.", "no"),
        ("Does Ann believe that the hat is bright red? Answer yes or no.", "yes"),
    ],
)
def test_explore_tom(question: str, answer: str) -> None:
    assert solve("explore_tom", EXPLORE, question).answer == answer


def test_an_event_that_never_happens_is_named() -> None:
    question = "In which container was the hat before Bob sang?"
    found = solve("explore_tom", EXPLORE, question)
    assert found.answer is None
    assert found.reason == "no sentence of the story says 'Bob sang'"


def test_unknown_benchmarks_and_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown benchmark 'x'; allowed: hi_tom, tomi"):
        solve("x", HI_TOM, "Where is the hat really?")
    with pytest.raises(ValueError, match="hi_tom has no rules 'released'"):
        get_language("hi_tom").rules_named("released")


def test_explain_tells_who_believes_what_after_each_sentence() -> None:
    assert explain(
        "hi_tom",
        "Ann and Bob entered the hall. The hat is in the red_box. "
        "Bob exited the hall. Ann moved the hat to the blue_jar. "
        "Bob privately told Ann that the hat is in the tin.",
    ) == (
        """\
  1  Ann and Bob entered the hall.
  2  The hat is in the red_box.
       hat (container) | really red_box; Ann and Bob: red_box
  3  Bob exited the hall.
  4  Ann moved the hat to the blue_jar.
       hat (container) | really blue_jar; Ann: blue_jar; Bob: red_box
         Bob has a wrong idea of Ann: red_box
  5  Bob privately told Ann that the hat is in the tin.
       hat (container) | really blue_jar; Ann: blue_jar; Bob: red_box
         Bob has a wrong idea of Ann: tin"""
    )


def test_explain_refuses_what_it_cannot_read() -> None:
    with pytest.raises(ParseError, match="sentence 1"):
        explain("tomi", "It rained.")


def test_check_counts_by_order_and_type_and_keeps_every_disagreement() -> None:
    rows: list[dict[str, Any]] = [
        {"story": HI_TOM, "question": "Where is the hat really?", "answer": "blue_jar"},
        {"story": HI_TOM, "question": "Where does Bob really think the hat is?", "answer": "tin"},
        {"story": "It rained.", "question": "Where is the hat really?", "answer": "x", "order": 7},
    ]
    report = check("hi_tom", rows)
    assert report.by_order == {"0": (1, 1), "1": (0, 1), "7": (0, 1)}
    assert report.by_type == {"container, now": (1, 3)}
    assert (report.agreed, report.total, round(report.share, 2)) == (1, 3, 0.33)
    wrong, unreadable = report.disagreements
    assert (wrong.row, wrong.answer) == (rows[1], "red_box")
    assert "cannot read sentence 1" in unreadable.reason
