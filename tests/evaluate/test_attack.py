"""The search for stories that a model gets wrong, against models that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import pytest

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.evaluate.attack import ORDERS, Attacked, Target, attack
from pipeline.rules.listed import rule_answers
from pipeline.rules.reading import read_all
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tom.rules import HI_TOM
from pipeline.tom.solve import solve

SOURCE = HiTomSource(
    kind="hi_tom_style", agents=3, structure="free", tell=True, telling="brief", small_names=True
)
BUDGET = 3000


def saying(rule: str) -> Target:
    """A model that follows a rule of the list."""

    def target(examples: Sequence[Example]) -> list[tuple[bool, str | None]]:
        said = rule_answers(read_all(examples), {rule})[rule]
        return [(e.answer == answer, answer) for e, answer in zip(examples, said, strict=True)]

    return target


def found(target: Target, wanted: int = 60, seed: int = 1) -> Attacked:
    return attack(target, SOURCE, wanted, BUDGET, seed)


@pytest.mark.parametrize("rule", ["last", "earliest exit", "most mentioned"])
def test_a_follower_of_a_rule_is_wrong_on_what_is_found_and_a_believer_right(rule: str) -> None:
    result = found(saying(rule))
    examples = [each.example for each in result.kept]
    assert len(examples) > 30
    again = saying(rule)(examples)
    assert fmean(correct for correct, _ in again) <= 0.2
    assert [each.said for each in result.kept] == [said for _, said in again]
    for example in examples:
        solved = solve("hi_tom", example.story, example.question, example.choices, HI_TOM).answer
        assert solved == example.answer
        assert registry.get(example.task).grade(f"<answer>{solved}</answer>", example).correct
    assert result.rules is None or result.rules <= 0.65
    lengths = [each.events for each in result.kept]
    assert lengths == sorted(lengths)
    usual = fmean(rows[0]["story"].count("\n") + 1 for rows in stories(SOURCE, "test", 100))
    assert lengths[0] < usual
    assert len({example.id for example in examples}) == len(examples)
    assert {example.order for example in examples} == set(ORDERS)


def test_a_believer_is_right_on_everything_within_the_budget() -> None:
    result = found(lambda examples: [(True, each.answer) for each in examples])
    assert (result.asked, result.right, result.wrong) == (BUDGET, BUDGET, 0)
    assert result.kept == () and result.rules is None


def test_the_search_goes_where_a_model_is_wrong() -> None:
    """A model that fails where somebody comes back is asked more often about such stories."""

    def comes_back(example: Example) -> bool:
        return example.story.count("entered") > 1

    def asked_of(is_right: Callable[[Example], bool]) -> float:
        asked = list[Example]()

        def target(examples: Sequence[Example]) -> list[tuple[bool, str | None]]:
            asked.extend(examples)
            return [(is_right(each), each.answer) for each in examples]

        attack(target, SOURCE, 10**6, BUDGET, 1)
        return fmean(map(comes_back, asked))

    assert asked_of(lambda each: not comes_back(each)) > 1.5 * asked_of(lambda _: True)


def test_the_same_seed_finds_the_same_and_another_other_names() -> None:
    first, again, other = (found(saying("last"), 20, seed) for seed in (1, 1, 2))
    assert first == again
    assert {e.example.story for e in first.kept}.isdisjoint(e.example.story for e in other.kept)
