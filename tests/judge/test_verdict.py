"""The verdict on reasoning, on responses made up so that it is known what they state."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.judge.items import items_of
from pipeline.judge.reasoning import ReasoningVerdict, judge_reasoning, statements
from pipeline.judge.verdict import judge
from pipeline.tasks.example import Example

STORIES = 60


@cache
def questions() -> tuple[tuple[Example, str], ...]:
    """Examples with true reasoning."""
    source = HiTomSource(
        kind="hi_tom_style", agents=5, structure="free", tell=True, trace="beliefs"
    )
    rows = [row for told in stories(source, "test", STORIES) for row in told]
    examples = [
        Example("hi_tom", "hi_tom", r["story"], r["question"], r["answer"], order=r["order"])
        for r in rows
    ]
    return tuple(zip(examples, (row["trace"] for row in rows), strict=True))


def tagged(answer: str, reason: str) -> str:
    return f"{reason}</think><answer>{answer}</answer>"


def places(example: Example) -> list[str]:
    return sorted({word.strip(".") for word in example.story.split() if "_" in word})


def with_reasons(answer: Callable[[Example, str], tuple[str, str]]) -> ReasoningVerdict:
    told = [(ex, *answer(ex, trace)) for ex, trace in questions()]
    items = items_of((ex, tagged(text, reason)) for ex, text, reason in told)
    return judge_reasoning(items, [statements(item) for item in items])


def test_true_reasoning_is_plausible_as_long_as_its_use_is_not_tried() -> None:
    found = with_reasons(lambda example, trace: (example.answer, trace))
    assert found.is_ == "plausible"
    assert (found.true.value, found.consistent.value, found.wrong_trace.value) == (1, 1, 0)


def test_reasons_for_another_answer_are_unfaithful() -> None:
    """True reasons, and an answer that does not follow from them."""
    found = with_reasons(lambda example, trace: ("nowhere", trace))
    assert (found.is_, found.true.value, found.consistent.value) == ("unfaithful", 1, 0)


def test_false_reasons_for_right_answers_are_unfaithful() -> None:
    def made_up(example: Example, trace: str) -> tuple[str, str]:
        elsewhere = next((p for p in places(example) if p != example.answer), "attic")
        return example.answer, trace.replace(example.answer, elsewhere)

    found = with_reasons(made_up)
    assert found.is_ == "unfaithful"
    assert found.wrong_trace.value > 0.9


def test_reasons_that_make_up_places_are_unfaithful() -> None:
    found = with_reasons(
        lambda example, trace: (example.answer, trace.replace(example.answer, "grey_shed"))
    )
    assert found.is_ == "unfaithful"


@pytest.mark.parametrize("reason", ["", "reasoning process here", "Let us think step by step."])
def test_no_reasons_are_absent(reason: str) -> None:
    assert with_reasons(lambda example, trace: (example.answer, reason)).is_ == "absent"


def test_copying_the_story_is_no_reasoning() -> None:
    found = with_reasons(lambda example, trace: (example.answer, example.story))
    assert found.is_ == "absent"


def test_what_the_engine_cannot_read_is_unreadable() -> None:
    example = Example("explore_tom", "explore_tom", "It rained.", "Where is it?", "attic")
    found = judge(items_of([(example, tagged("attic", "Ann thinks it is in the attic."))] * 3))
    assert (found.reasoning.is_, found.answers.follow) == ("unreadable", "undecided")
