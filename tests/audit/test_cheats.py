"""Cheats and constants on small sets whose figures are known."""

from __future__ import annotations

import pytest

from pipeline.audit.cheats import CHEATS, possible_answers
from pipeline.rules.reading import Reading
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from tests.made_answers import DISGUISES

TELLS = "Ann entered the hall. Ann moved the hat to the {}, which is also located in the hall."


def place(answer: str) -> Example:
    question = "In which container is the hat now?"
    return Example("explore_tom", "explore_tom_sample", TELLS.format(answer), question, answer)


def test_either_a_or_b_wins_study_1s_rule_where_b_is_right() -> None:
    story = "\n".join(f"Ann moved the hat to the {name}." for name in ("tin", "jar"))
    asked = Example("tomi", "tomi", story, "Where is the hat really?", "jar")
    given = CHEATS["either of the last two possible answers"](
        Reading(asked, None, True, ("tin", "jar"))
    )
    assert given is not None and "either tin or jar" in given
    grade = registry.get("tomi").grade(given, asked)
    assert (grade.correct, grade.strict) == (True, False)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"answer_kind": "yes_no"}, ("yes", "no")),
        ({"answer_kind": "number"}, ("3", "4.5")),
        ({"answer_kind": "names"}, ("Ann", "Bob")),
        ({"answer_kind": "names", "choices": ("Ann", "Cal")}, ("Ann", "Cal")),
        ({"answer_kind": "label", "choices": ("less", "more")}, ("less", "more")),
        ({}, ()),
    ],
    ids=str,
)
def test_possible_answers_are_read_off_the_prompt(
    fields: dict[str, object], found: tuple[str, ...]
) -> None:
    story, question = "Ann: Hi.\nBob: Hi, Ann.", "What are 3 and 4.5 and 3?"
    example = Example("b", "t", story, question, "x", **fields)  # type: ignore[arg-type]
    assert possible_answers(Reading(example, None, False, ())) == found


def test_no_disguise_hides_the_right_answer_from_the_published_rule_only() -> None:
    task = registry.get("explore_tom_sample")
    for name, disguise in DISGUISES.items():
        grade = task.grade(disguise("tin"), place("tin"))
        assert not grade.format_ok, name
        assert grade.correct, name
