"""An answer is right or wrong whatever it is dressed in, and what is strictly right is right."""

from __future__ import annotations

import random

import pytest

from pipeline.tasks.registry import get
from tests.corpus.answers import DRESSES, GOLDS, SPELLINGS


@pytest.mark.parametrize("dress", DRESSES)
def test_a_dress_does_not_matter(dress: str) -> None:
    place = GOLDS["place"]
    for said in SPELLINGS:
        grade = get("hi_tom").grade(f"x</think><answer>{dress.format(said)}</answer>", place)
        assert (grade.correct, grade.strict) == (True, True), said
    wrong = get("hi_tom").grade(f"<answer>{dress.format('blue_jar')}</answer>", place)
    assert not wrong.correct and not wrong.strict


def test_what_is_strictly_right_is_right_in_50_000_drawn_styles() -> None:
    draw = random.Random(7)
    said = [
        "red_box",
        "blue jar",
        "yes",
        "No",
        "Ann, Tom",
        "tom & ann",
        "Ben",
        "b",
        "(b) Ann’s box",
    ]
    golds, strict = [GOLDS[kind] for kind in GOLDS if kind != "number"], 0
    for _ in range(50_000):
        answer = draw.choice(said)
        for dress in draw.choices(DRESSES, k=draw.randrange(4)):
            answer = dress.format(answer)
        gold = draw.choice(golds)
        grade = get(gold.task).grade(f"x</think><answer>{answer}</answer>", gold)
        strict += grade.strict
        assert grade.correct or not grade.strict, (answer, gold.answer)
    assert strict > 5_000
