"""The rules that learn nothing, where a topic or a room is asked for."""

from __future__ import annotations

import pytest

from pipeline.tom.shortcut import guess


def test_phrase_cue_on_topics() -> None:
    story = "Ann entered the hall. Bob entered the hall. Ann told out loud about the rent."
    first = "Does Bob know about rent? Answer yes or no."
    assert guess("phrase_cue", "explore_tom", story, first) == "no"
    assert guess("initial", "explore_tom", story, first) is None
    assert guess("earliest_exit", "explore_tom", story, first) is None


def test_rooms_are_candidates_where_a_room_is_asked_for() -> None:
    story = (
        "Ann entered the hall. Bob entered the attic. Bob left the attic. "
        "Ann moved the hat to the box, which is also located in the hall."
    )
    question = "In which room does Bob think that Ann will search for the hat?"
    assert guess("most_frequent", "explore_tom", story, question) == "hall"
    assert guess("last", "explore_tom", story, question) == "hall"


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown rule 'x'; allowed: initial"):
        guess("x", "hi_tom", "", "")
