"""Questions chosen by whether a rule answers them: exact halves, every order, clear refusals."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import HiTomSource
from pipeline.data.contrast import Contrast, contrasting, last_named, rule_is_right
from pipeline.data.generated import fold_of, stories
from pipeline.rules.listed import baselines
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tom.parse.hi_tom import in_full, parse_story
from pipeline.tom.structure import structure_id

SOURCE = HiTomSource(
    kind="hi_tom_style",
    telling="brief",
    small_names=True,
    agents=3,
    tell=(True,),
    structure="free",
    structures="apart",
)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [
        Example("hi_tom_style", "t", row["story"], row["question"], row["answer"], order=order)
        for rows in stories(SOURCE, "train", 800)
        for row in rows
        if (order := row["order"]) in (1, 2)
    ]


@pytest.mark.parametrize(("contrast", "share"), [("right", 1.0), ("wrong", 0.0), ("half", 0.5)])
def test_the_rule_is_right_as_often_as_asked_in_every_order(
    examples: list[Example], contrast: Contrast, share: float
) -> None:
    chosen = contrasting(examples, contrast, 80, Random(1))
    assert len(chosen) == len({e.id for e in chosen}) == 80
    right = Counter((e.order, rule_is_right(e)) for e in chosen)
    assert all(right[order, True] == 40 * share for order in (1, 2))
    named_last = Counter((e.order, rule_is_right(e)) for e in chosen if last_named(e) == e.answer)
    assert all(2 * named_last[kind] == count for kind, count in right.items())
    assert chosen == sorted(chosen, key=examples.index)
    assert chosen == contrasting(examples, contrast, 80, Random(1))


def test_without_a_limit_the_rarest_kind_decides(examples: list[Example]) -> None:
    chosen = contrasting(examples, "half", None, Random(1))
    kinds = Counter((e.order, rule_is_right(e), last_named(e) == e.answer) for e in examples)
    assert len(chosen) == 8 * min(kinds.values())


def test_two_rules_gain_nothing_by_half_of_each(examples: list[Example]) -> None:
    chosen = contrasting(examples, "half", None, Random(1))
    found = baselines(read_all(chosen))
    assert found["earliest exit"].accuracy == found["last mention"].accuracy == 0.5


def test_an_order_without_such_questions_is_named() -> None:
    world = [
        Example("hi_tom_style", "t", row["story"], row["question"], row["answer"], order=0)
        for row, *_ in stories(SOURCE, "train", 5)
    ]
    with pytest.raises(UserError, match="rule: half wants .* none of order 0; name the orders"):
        contrasting(world, "half", None, Random(1))


def test_a_benchmark_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UserError, match="opentom: the rule of the earliest exit .* leave it out"):
        rule_is_right(Example("opentom", "opentom", "Once.", "Where?", "here"))


def test_structures_apart_share_no_structure_between_purposes() -> None:
    found = {
        purpose: {
            structure_id(parse_story(in_full(rows[0]["story"])).events)
            for rows in stories(SOURCE, purpose, 150)
        }
        for purpose in ("train", "validation", "test")
    }
    assert all(len(structures) > 100 for structures in found.values())
    assert {p: {fold_of(s) for s in found[p]} for p in found} == {p: {p} for p in found}


def test_a_fifth_of_the_structures_is_for_tests_and_a_tenth_for_validation() -> None:
    folds = Counter(fold_of(f"{n:016x}") for n in range(1000))
    assert folds == {"train": 700, "test": 200, "validation": 100}
