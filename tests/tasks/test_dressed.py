"""An answer is right or wrong whatever it is dressed in, and what is strictly right is right."""

from __future__ import annotations

import random

import pytest

from pipeline.tasks.example import Example
from pipeline.tasks.registry import get

CHOICES = ("blue_jar", "red_box")
DRESSES = (
    *("{}", "**{}**", "*{}*", "__{}__", "`{}`", "**`{}`**", '"{}"', "'{}'", "“{}”", "‘{}’"),
    *(
        "«{}»",
        "「{}」",
        "({})",
        "[{}]",
        "{{{}}}",
        "（{}）",
        "【{}】",
        "{}。",
        "{}．",
        "{}！",
        "{} ...",
    ),
    *("{}…", "{}।", "{}؟", "\u200b{}\u200b", "\ufeff{}", "{}\u00ad", "\u2060{}", "\u200e{}"),
    *("<b>{}</b>", "\\boxed{{{}}}", "\\text{{{}}}", "the {}", "A {}", "\n{}\n", "\u00a0{}"),
)
RED_BOX = Example("hi_tom", "hi_tom", "s", "q", "red_box", choices=CHOICES)
OPTIONS = ("(a) a jar", "(b) Ann's box")
GOLDS = (
    RED_BOX,
    Example("fantom", "fantom_yes_no", "s", "q", "yes", answer_kind="yes_no"),
    Example("fantom", "fantom_yes_no", "s", "q", OPTIONS[1], answer_kind="choice", choices=OPTIONS),
    Example(
        *("fantom", "fantom_list", "s", "q", "Ann, Tom"),
        answer_kind="names",
        meta={"wrong_names": ["Ben"]},
    ),
)


@pytest.mark.parametrize("dress", DRESSES)
def test_a_dress_does_not_matter(dress: str) -> None:
    for said in ("red_box", "RED_BOX", "red box", "red\\_box", "ｒｅｄ_box", "red\u200b_box"):
        grade = get("hi_tom").grade(f"x</think><answer>{dress.format(said)}</answer>", RED_BOX)
        assert (grade.correct, grade.strict) == (True, True), said
    wrong = get("hi_tom").grade(f"<answer>{dress.format('blue_jar')}</answer>", RED_BOX)
    assert not wrong.correct and not wrong.strict


@pytest.mark.parametrize(
    ("answer", "strict"),
    [
        ("A. red_box", False),
        ("B. red_box", True),
        ("(b) red_box", True),
        ("**B**: red_box", True),
        ("a) red_box", False),
        ("a red_box", True),
        ("C. red_box", False),
        ("B. blue_jar", False),
        ("A", False),
        ("red_box (not blue_jar)", False),
        ("~~red_box~~", False),
    ],
)
def test_a_letter_needs_its_option(answer: str, strict: bool) -> None:
    assert get("hi_tom").grade(f"<answer>{answer}</answer>", RED_BOX).strict is strict


@pytest.mark.parametrize(
    "answer",
    [
        "ANN AND TOM",
        "Ann & Tom",
        "- Ann\n- Tom",
        "1. Tom\n2. Ann",
        '["Ann", "Tom"]',
        "Ann; **Tom**.",
    ],
)
def test_names_in_a_list(answer: str) -> None:
    assert get("fantom_list").strict(answer, GOLDS[3])
    assert not get("fantom_list").strict(f"{answer}, Ben", GOLDS[3])


@pytest.mark.parametrize(
    "answer", ["Ann’s box", "(b) Ann’s box", "b", "**B**", "(B).", "b) Ann's box"]
)
def test_an_option_in_full_or_by_letter(answer: str) -> None:
    grade = get("fantom_yes_no").grade(answer, GOLDS[2])
    assert (grade.correct, grade.strict) == (True, True)


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
    strict = 0
    for _ in range(50_000):
        answer = draw.choice(said)
        for dress in draw.choices(DRESSES, k=draw.randrange(4)):
            answer = dress.format(answer)
        gold = draw.choice(GOLDS)
        grade = get(gold.task).grade(f"x</think><answer>{answer}</answer>", gold)
        strict += grade.strict
        assert grade.correct or not grade.strict, (answer, gold.answer)
    assert strict > 5_000
