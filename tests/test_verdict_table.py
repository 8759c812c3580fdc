"""The confusion table of docs/verdict.md is that of the stored simulation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from benchmarks import outsiders
from benchmarks.verdict import (
    BELIEVERS,
    MINDS,
    SIZES,
    confusion_table,
    exam_table,
    extremes_of,
    figures,
)
from pipeline.rules.surface import UNDEFINED
from tests.conftest import PROJECT
from tests.judge.hard import examples, questions

STORED = PROJECT / "docs/results/verdict.json"


@pytest.mark.skipif(not STORED.exists(), reason="python -m benchmarks.verdict --write stores it")
def test_verdicts_are_stored_with_what_they_were_made_on() -> None:
    stored: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    assert len(stored["exams"]) == len(SIZES)
    assert set(stored["libraries"]) >= {"scikit-learn", "numpy"} and stored["processor"]
    assert re.fullmatch(r"[0-9a-f]{7,}", stored["commit"])


def kind(named: int = 0, to_name: int = 0, **verdicts: int) -> dict[str, Any]:
    said = {name.replace("_", " "): count for name, count in verdicts.items()}
    return {"verdicts": said, "right": 0, "named": named, "to_name": to_name}


FOUND = {
    BELIEVERS: kind(beliefs=3, undecided=1),
    MINDS: kind(named=4, to_name=5, simpler_mind=4, beliefs=1),
    "guessers": kind(unexplained=3),
}


def test_tables_are_in_percent_of_the_responders_of_each_kind() -> None:
    shown = confusion_table({"100": {}, "1000": FOUND}).splitlines()
    assert shown[0] == "| responders | count | beliefs | simpler mind | unexplained | undecided |"
    assert shown[2] == f"| {BELIEVERS} | 4 | 75.0 | 0.0 | 0.0 | 25.0 |"
    assert figures(FOUND) == {"believed": 0.75, "bold": 0.125, "named": 0.8}
    assert exam_table({"100": FOUND}).splitlines()[-1] == "| 100 | 75.0 | 12.5 | 80.0 |"


def test_outsiders_read_the_text_alone() -> None:
    """On a story told by hand; all of them answer with a place of any story that is asked."""
    example = examples()[0]
    hand = replace(
        example,
        story="Ann and Bob entered the hall.\nThe hat is in the box.\nAnn moved it to the tin.\n"
        "Ann left.\nBob moved it to the jar.\nBob publicly claimed that hat is in the bag now.",
        question="Where does Ann think Bob thinks the hat is?",
        answer="tin",
    )
    said = {name: rule(hand, Random(0)) for name, rule in outsiders.RULES.items()}
    assert said == {
        "first left, ever": "tin",
        "nearest to the name": "jar",
        "second place named": "tin",
        "most vowels": "box",
        "number of sentences": "jar",
        "letters of the first name": "bag",
        "alphabetical": "bag",
        "last place said": "bag",
    }
    other = hand.story.replace("Ann", "Eve").replace("Bob", "Dan").replace("tin", "pot")
    other = (
        other.replace("hall", "den").replace("The hat", "The fig").replace("that hat", "that fig")
    )
    renamed = replace(hand, story=other)
    assert outsiders.shape(renamed) == outsiders.shape(hand) != outsiders.shape(example)
    for each in outsiders.KINDS:
        for respond in each.responders:
            answers = [respond(e, Random(1)) for e in examples()[:40]]
            pairs = zip(answers, examples(), strict=False)
            assert all(answer in e.story for answer, e in pairs)


def test_drawn_lists_can_count_and_look_at_positions() -> None:
    for asked in questions().asked[:50]:
        found = extremes_of(asked)
        shown = asked.rows[:, len(asked.picks)]
        assert shown[asked.candidates.index(str(found["most: times shown"]))] == shown.max()
        assert shown[asked.candidates.index(str(found["least: times shown"]))] == shown.min()
        assert found["most: place among options"] is None  # they have none
        last = asked.rows[:, len(asked.picks) + 7]
        place = asked.candidates.index(str(found["least: last mention"]))
        assert last[place] == min(value for value in last if value != UNDEFINED)
