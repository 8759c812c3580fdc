"""What the belief engine does beside its rules, which the documented examples show."""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.belief import beliefs
from pipeline.tom.rules import EXPLORE_TOM
from pipeline.tom.story import Change, Enter, Event, Exit, Move, Place, Remark, Stay

TOGETHER: tuple[Event, ...] = (Enter(("Ann", "Bob", "Cleo"), "hall"), Place("hat", "box", "hall"))


def test_observation_is_common_knowledge_to_any_depth() -> None:
    known = beliefs((*TOGETHER, Exit("Bob", "hall"), Move("Ann", "hat", "jar")))
    assert known.of(("Ann", "Cleo", "Ann", "Cleo", "Ann"), "hat") == "jar"
    assert known.of(("Ann", "Cleo", "Bob", "Ann"), "hat") == "box"  # Bob breaks it


def test_staying_and_remarks_change_nothing() -> None:
    story = (*TOGETHER, Stay("Ann", "hall"), Remark("Bob saw a cat."))
    assert beliefs(story).observations == beliefs(TOGETHER).observations


def test_states_are_seen_by_those_who_come_later_unless_they_do_not_show() -> None:
    story = (Enter(("Ann",), "hall"), Change("Ann", "hat", "dyed the hat"), Enter(("Bob",), "hall"))
    assert beliefs(story, EXPLORE_TOM).of(("Bob",), "hat", "dyed the hat")
    hidden = replace(EXPLORE_TOM, states_show=False)
    assert not beliefs(story, hidden).of(("Bob",), "hat", "dyed the hat")
    unseen = (story[0], Change("Ann", "hat", "dyed the hat", visible=False), story[2])
    assert not beliefs(unseen, EXPLORE_TOM).of(("Bob",), "hat", "dyed the hat")
