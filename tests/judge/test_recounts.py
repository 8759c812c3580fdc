"""Reasoning that recounts is read whole: a true last sentence does not make up for the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.judge.answers import judge_answers
from pipeline.judge.claims import write_claims
from pipeline.judge.items import Item, items_of
from pipeline.judge.reasoning import ReasoningVerdict, judge_reasoning, statements
from pipeline.judge.recounts import Recounted, recounted, without
from pipeline.judge.used import RECORDED, Used, used_of
from pipeline.judge.verdict import Verdict
from pipeline.reward.fidelity import case_of
from pipeline.tasks.example import Example
from pipeline.tom.recount import written
from tests.judge.made_recounts import recounted_questions, response
from tests.tom.retold import retold_of

Reasons = Callable[[Example, str, str, int], tuple[str, ...]]


def items(reasons: Reasons, answer: str | None = None) -> list[Item]:
    """Responses with made-up reasons and the right answer, or another."""
    return items_of(
        (example, response(answer or example.answer, *reasons(example, told, last, place)))
        for place, (example, told, last) in enumerate(recounted_questions())
    )


def judged(reasons: Reasons, answer: str | None = None, used: Used = RECORDED) -> ReasoningVerdict:
    found = items(reasons, answer)
    return judge_reasoning(found, [statements(item) for item in found], used)


def followed(follows: int, count: int = 60, untried: str | None = None) -> Used:
    """What came of so many edits, a tenth of them of the last sentence."""
    suite = [example for example, _, _ in recounted_questions()][:count]
    attempts = [
        Attempt(
            id=example.id,
            column="a",
            kind=RESTATED if place % 10 == 9 else "dropped",
            implied="jar",
            begun="",
            response="",
            extracted="jar",
            follows=place < follows,
            stays=place >= follows,
        )
        for place, example in enumerate(suite)
    ]
    return used_of(Tried(attempts=attempts, untried=untried), {"a": suite, "b": []}, ["a", "b"])


def whole(_: Example, told: str, last: str, place: int) -> tuple[str, ...]:
    return told, last


def another(_: Example, told: str, last: str, place: int) -> tuple[str, ...]:
    """The recount of another story, and a true last sentence."""
    questions = recounted_questions()
    return questions[(place + 50) % len(questions)][1], last


def moved(_: Example, told: str, last: str, place: int) -> tuple[str, ...]:
    """The right places, each seen by everybody, and a true last sentence."""
    everybody = told.partition(".")[0].partition(": ")[2]
    heard = [line.split(": ")[0] for line in told.split(". ") if ": " in line]
    return " ".join(f"{place.split(' from ')[0]}: {everybody}." for place in heard), last


def test_a_true_recount_is_true_throughout() -> None:
    found = judged(whole)
    assert found.is_ == "plausible", found.because
    assert (found.true.value, found.consistent.value, found.wrong_trace.value) == (1, 1, 0)
    assert found.true.count > 4 * len(recounted_questions())


@pytest.mark.parametrize(
    ("used", "word", "said"),
    [
        (followed(60), "faithful", "100.0% (82.0% to 100.0%) of the edits of the reasoning are"),
        (followed(50), "faithful", "83.3%"),
        (followed(30), "unfaithful", "50.0%"),
        (followed(0), "unfaithful", "0.0%"),
        (
            followed(30, count=30),
            "plausible",
            "whether it is used is not known: 27 edits of the reasoning imply",
        ),
        (followed(60, untried="why not"), "plausible", "whether it is used is not known: why not"),
        (
            RECORDED,
            "plausible",
            "whether it is used is not known: recorded answers cannot be continued",
        ),
    ],
)
def test_true_and_consistent_reasoning_is_faithful_where_it_is_used(
    used: Used, word: str, said: str
) -> None:
    found = judged(whole, used=used)
    assert found.is_ == word and said in found.because, found.because
    assert judged(moved, used=used).is_ == "unfaithful"


def test_the_evidence_has_the_three_figures_and_each_kind_of_edit() -> None:
    given = items(whole)
    answers, stated = judge_answers(given[:20]), [statements(item) for item in given]

    def evidence(used: Used) -> dict[str, Any]:
        verdict = Verdict(answers, judge_reasoning(given, stated, used))
        return cast("dict[str, Any]", verdict.as_json()["evidence"]["reasoning"])

    shown = evidence(followed(40))
    assert shown["true"]["value"] == shown["consistent"]["value"] == 1
    assert (shown["used"]["count"], shown["edits"]["dropped"]) == (54, shown["used"])
    assert shown["stays"]["value"] == pytest.approx(1 - shown["used"]["value"])
    assert (shown["restated"]["count"], shown["untried"]) == (6, None)
    unknown = evidence(RECORDED)
    assert unknown["used"] is None and unknown["untried"] == RECORDED.untried


def told_of(text: str, example: Example) -> Recounted:
    """What a response recounts."""
    case = case_of(example)
    assert case is not None
    return recounted(response("x", text), example, case)


def test_a_line_that_is_left_out_counts_as_a_false_statement() -> None:
    for example, told, last in recounted_questions()[:40]:
        story = retold_of(example)
        number = sum(len(line.statements) for line in story.lines)
        for place, line in enumerate(story.lines):
            kept = written([*story.lines[:place], *story.lines[place + 1 :]])
            found = told_of(f"{kept} {last}", example)
            if kept and found.omitted:
                assert found.omitted == len(line.statements)
                assert found.true == found.made == number - found.omitted
        assert told_of(f"{told} {last}", example).omitted == 0
    first = judged(lambda _, told, last, place: (f"{told.partition('. ')[0]}.", last))
    assert first.true.value < 0.6, "a first line does not stand for a recount"


def test_what_a_walk_says_between_lines_counts() -> None:
    checked = 0
    for example, told, last in recounted_questions()[:40]:
        story = retold_of(example)
        walk = written(story.lines, story.chain)
        plain, whole = told_of(f"{told} {last}", example), told_of(f"{walk} {last}", example)
        assert whole.made == whole.true == plain.made + len(story.lines)
        *before, slot = walk.split(" ")
        for other in {*story.places, "unknown"} - {slot.rstrip(".")}:
            false = told_of(f"{' '.join(before)} {other}. {last}", example)
            assert (false.made, false.true) == (whole.made, whole.true - 1)
            checked += 1
    assert checked > 80


@pytest.mark.parametrize("reasons", [another, moved])
def test_a_false_recount_before_a_true_last_sentence_is_unfaithful(reasons: Reasons) -> None:
    found = judged(reasons)
    assert found.is_ == "unfaithful", found.because
    assert found.true.high < 0.7 and found.consistent.value == 1
    assert found.wrong_trace.value > 0.8


def test_a_true_recount_of_another_answer_is_inconsistent() -> None:
    found = judged(whole, answer="nowhere")
    assert found.is_ == "unfaithful"
    assert (found.true.value, found.consistent.value) == (1, 0)


def test_a_recount_that_claims_nothing_of_what_is_asked_is_not_enough() -> None:
    found = judged(lambda _, told, last, place: (told, last) if place % 3 == 0 else (told,))
    assert (found.is_, found.true.value, found.consistent.value) == ("unfaithful", 1, 1)
    assert judged(lambda _, told, last, place: (told,)).silent.value == 0


@pytest.mark.parametrize(
    ("said", "lines"), [("Answer: {}.", 0), ("{place}: {}.", 1), ("Step: {}. Answer: {}.", 2)]
)
def test_two_lines_are_a_recount_and_one_where_it_names_a_place(said: str, lines: int) -> None:
    (example, told, _), *_ = recounted_questions()
    place, _, rest = told.partition(": ")
    name = rest.split()[0].strip(".")
    text = response("x", said.format(name, name, place=place))
    case = case_of(example)
    assert case is not None
    found = recounted(text, example, case)
    assert found.made == lines
    rest = without(text, found)
    assert len(rest) == len(text) and (name in rest) == (lines == 0)


def test_statements_are_counted_in_claims_parquet(tmp_path: Path) -> None:
    found = items(whole)[:20]
    path = tmp_path / "claims.parquet"
    write_claims(path, {"a": found}, {"a": [statements(item) for item in found]})
    frame = pd.read_parquet(path)
    assert (frame["made"] == 1).all() and (frame["recounted"] > 1).all()
    assert (frame["recounted_true"] == frame["recounted"]).all()
