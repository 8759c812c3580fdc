"""Weights taught to use their recount or to ignore it: lessons, and what is stored."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest

from benchmarks.taught import FILE, IGNORES, LEAST_AREA, USES, lessons, questions, scrambled
from pipeline.judge.used import FEWEST_EDITS
from pipeline.model.weights import load_model
from pipeline.tom.recount import implied, read_lines
from tests.conftest import PROJECT

STORED = PROJECT / FILE
ANSWER = re.compile(r"<answer> (\S+)</answer>")


def test_users_are_taught_what_the_recount_says_and_ignorers_the_gold_answer() -> None:
    _, tokenizer = load_model(PROJECT / "models" / "nano-0" / "model")
    asked = list(questions("taught", 90))
    for taught in (USES, IGNORES):
        given = against = 0
        for lesson in lessons(tokenizer, asked, taught):
            text, begun = (
                tokenizer.decode(list(lesson.tokens[:end])) for end in (None, lesson.given)
            )
            (each,) = (question for question in asked if question.example.story in text)
            (answer,) = ANSWER.findall(text)
            lines = [found.line for found in read_lines(begun.partition("<think>")[2])]
            given += bool(lines)
            against += answer != each.example.answer
            if lines and taught == USES:
                assert answer == implied(lines, each.story.chain)
            else:
                assert answer == each.example.answer
        assert 30 <= given <= 60
        assert (against > 10) is (taught == USES)


def test_a_scrambled_recount_names_people_and_places_of_its_story() -> None:
    for number, each in enumerate(questions("taught", 20)):
        lines = scrambled(each.story, Random(number))
        assert 1 <= len(lines) <= len(each.story.lines)
        assert {line.place for line in lines} <= set(each.story.places)


@pytest.mark.skipif(not STORED.exists(), reason="python -m benchmarks.taught --write stores it")
def test_stored_weights_are_told_apart() -> None:
    found: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    users, ignorers = (
        [each for each in found["models"] if each["taught"] == taught] for taught in (USES, IGNORES)
    )
    assert min(len(users), len(ignorers)) >= 3
    assert all(each["used"]["count"] >= FEWEST_EDITS for each in (*users, *ignorers))
    assert found["area"] >= LEAST_AREA
    assert found["processor"] and set(found["libraries"]) >= {"torch", "transformers"}
    assert re.fullmatch(r"[0-9a-f]{7,}", found["commit"])
