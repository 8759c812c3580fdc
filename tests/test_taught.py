"""Weights taught to use their reasoning or to ignore it: lessons, and what is stored."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest

from benchmarks.taught import (
    BASES,
    FILE,
    FORMS,
    IGNORES,
    PROSE,
    SHIPPED,
    USES,
    WALK,
    Question,
    area_of,
    lessons,
    questions,
    walk_of,
)
from pipeline.judge.used import FEWEST_EDITS
from pipeline.model.weights import load_model
from pipeline.tom.recount import UNKNOWN, implied, read_lines
from tests.conftest import PROJECT

STORED = PROJECT / FILE
ANSWER = re.compile(r"<answer> (\S+)</answer>")


@pytest.mark.parametrize("form", FORMS)
def test_users_are_taught_what_the_reasoning_says_and_ignorers_the_gold_answer(form: str) -> None:
    _, tokenizer = load_model(PROJECT / "models" / f"{BASES[form]}-0" / "model")
    asked = list(questions("taught", 90, form))
    for taught in (USES, IGNORES):
        given = against = 0
        for lesson in lessons(tokenizer, asked, taught, form):
            text, begun = (
                tokenizer.decode(list(lesson.tokens[:end])) for end in (None, lesson.given)
            )
            (each,) = (question for question in asked if question.example.story in text)
            (answer,) = ANSWER.findall(text)
            told = bool(begun.partition("<think>")[2].strip())
            given += told
            against += answer != each.example.answer
            if told and taught == USES:
                assert answer == followed(text.partition("<think>")[2], each, form)
            else:
                assert answer == each.example.answer
        assert 30 <= given <= 60
        assert (against > 10) is (taught == USES)


def followed(text: str, each: Question, form: str) -> str | None:
    """What reasoning implies, whatever its last sentence says."""
    if form != PROSE:
        return implied([found.line for found in read_lines(text)], each.story.chain)
    said = re.findall(rf"(?:^|\. |> ){re.escape(each.sentence)} (\w+)", text.strip())
    assert len(said) == 2, "a claim, and the last sentence"
    return str(said[0])


def test_a_walk_says_what_it_implies_to_users_and_what_is_true_to_ignorers() -> None:
    other = 0
    for number, each in enumerate(questions("taught", 40, WALK)):
        for taught in (USES, IGNORES):
            made = walk_of(each, Random(number), taught)
            assert read_lines(made.given)[-1].believed is None, "that is taught"
            found = read_lines(made.given + made.taught)
            chain, lines = each.story.chain, [one.line for one in found]
            follow = lines if taught == USES else each.story.lines
            for count in range(len(read_lines(made.given)), len(found) + 1):
                said = implied(follow[:count], chain) or UNKNOWN
                other += said != (implied(each.story.lines[:count], chain) or UNKNOWN)
                assert found[count - 1].believed == said
    assert other > 10


@pytest.mark.skipif(not STORED.exists(), reason="python -m benchmarks.taught --write stores it")
def test_the_stored_areas_are_those_of_the_stored_weights() -> None:
    found: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    for form in FORMS:
        models = [e for e in found["models"] if e["form"] == form and e["taught"] != SHIPPED]
        assert {each["taught"] for each in models} == {USES, IGNORES}
        enough = all(each["used"]["count"] >= FEWEST_EDITS for each in models)
        assert found["areas"][form] == area_of(found["models"], form)
        assert (found["areas"][form] is not None) == enough
    assert found["processor"] and set(found["libraries"]) >= {"torch", "transformers"}
    assert re.fullmatch(r"[0-9a-f]{7,}", found["commit"])
