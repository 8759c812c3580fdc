"""The confusion table of docs/verdict.md is that of the stored simulation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks.verdict import LISTS, extremes_of, table, with_table
from pipeline.rules.surface import UNDEFINED
from tests.conftest import PROJECT
from tests.judge.hard import questions

PAGE = (PROJECT / "docs/verdict.md").read_text(encoding="utf-8")
STORED = PROJECT / "docs/results/verdict.json"


@pytest.mark.skipif(not STORED.exists(), reason="python -m benchmarks.verdict --write stores it")
def test_the_table_is_that_of_the_stored_verdicts() -> None:
    stored: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    assert with_table(PAGE, stored["verdicts"]) == PAGE
    assert stored["lists"] >= 1000
    assert set(stored["libraries"]) >= {"scikit-learn", "numpy"} and stored["processor"]
    assert re.fullmatch(r"[0-9a-f]{7,}", stored["commit"])


def test_the_table_is_in_percent_of_the_responders_of_each_kind() -> None:
    shown = table({"guessers": {"neither": 3, "undecided": 1}, LISTS: {}}).splitlines()
    assert (
        shown[0] == "| responders | count | beliefs | simpler mind | rule | neither | undecided |"
    )
    assert shown[2] == "| guessers | 4 | 0.0 | 0.0 | 0.0 | 75.0 | 25.0 |"
    assert shown[3] == f"| {LISTS} | 0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 |"
    page = with_table(PAGE, {"guessers": {"neither": 1}})
    assert "| guessers | 1 |" in page and LISTS not in page
    assert page.startswith(PAGE.partition("<!-- confusion -->")[0])
    assert page.endswith(PAGE.partition("<!-- /confusion -->")[2])


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
