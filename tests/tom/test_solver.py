"""Readings of one story by other rules, and rules that there are not."""

from __future__ import annotations

import pytest

from pipeline.tom.language import get_language
from pipeline.tom.rules import TOMI_PLAIN
from pipeline.tom.solve import solve

TOMI = (
    "Ann entered the hall. Bob entered the hall. The hat is in the box. Bob exited the hall. "
    "Cleo entered the hall. Ann moved the hat to the jar."
)


def test_tomi_has_three_readings() -> None:
    question = "Where does Ann think that Bob searches for the hat?"
    assert solve("tomi", TOMI, question).answer == "jar"
    assert solve("tomi", TOMI, question, rules=TOMI_PLAIN).answer == "box"
    released = get_language("tomi").rules_named("released")
    assert solve("tomi", TOMI, question, rules=released).answer == "jar"


def test_unknown_benchmarks_and_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown benchmark 'x'; allowed: hi_tom, tomi"):
        solve("x", "", "Where is the hat really?")
    with pytest.raises(ValueError, match="hi_tom has no rules 'released'"):
        get_language("hi_tom").rules_named("released")
