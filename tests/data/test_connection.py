"""The strongest connection wins; each step down takes away one thing in common."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.data.connection import MEANINGS, Connection, Shown, connections, mark
from pipeline.data.origin import Origin, generator_of
from pipeline.tasks.example import Example

TOLD = "Ann and Bob entered the attic.\nThe hat is in the box.\nAnn moved the hat to the jar."
RENAMED = TOLD.replace("Ann", "Zoe").replace("Bob", "Max").replace("jar", "tin")
OTHER = "Ann and Bob entered the attic.\nThe hat is in the box.\nAnn exited the attic."
WHERE = "Where does Ann think the hat is?"


def asked(story: str, order: int = 1, benchmark: str = "hi_tom") -> Example:
    return Example(benchmark, "hi_tom", story, WHERE, "jar", order=order)


def origin(*examples: Example) -> Origin:
    return Origin.of(examples, ())


COLUMN = origin(asked(TOLD))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (asked(OTHER), Connection.TRAINED),
        (asked(TOLD, order=2), Connection.SHARING_STORIES),
        (asked(RENAMED, order=2), Connection.SHARING_STRUCTURES),
        (asked(OTHER, order=2), Connection.SAME_GENERATOR),
        (asked(OTHER, order=2, benchmark="hi_tom_style"), Connection.SAME_GENERATOR),
        (asked(OTHER, benchmark="tomi"), Connection.HELD_OUT),
    ],
)
def test_each_step_takes_something_away(shown: Example, expected: Connection) -> None:
    assert mark(COLUMN, Shown(trained=origin(shown))).connection is expected
    demonstrated = Shown(demonstrated=origin(shown))
    weaker = Connection.DEMONSTRATED if expected is Connection.TRAINED else expected
    assert mark(COLUMN, demonstrated).connection is weaker


def test_the_strongest_of_several_wins() -> None:
    both = Shown(trained=origin(asked(OTHER, order=2)), demonstrated=origin(asked(OTHER)))
    assert mark(COLUMN, both).connection is Connection.DEMONSTRATED
    both = Shown(trained=origin(asked(OTHER)), demonstrated=origin(asked(OTHER)))
    assert mark(COLUMN, both).connection is Connection.TRAINED
    assert list(connections(COLUMN, both)) == [
        Connection.TRAINED,
        Connection.DEMONSTRATED,
        Connection.SAME_GENERATOR,
    ]
    everything = Shown(trained=COLUMN, demonstrated=COLUMN)
    assert list(connections(COLUMN, everything)) == list(Connection)[:-1], "the strongest first"


def test_a_mark_says_how_much_of_the_column_it_is_true_of() -> None:
    column = origin(*(asked(TOLD, order) for order in (0, 1, 2, 3, 4)))
    trained = Shown(trained=origin(*(asked(OTHER, order) for order in (0, 1, 2, 3))))
    assert mark(column, trained).text() == "trained (80 %)"
    assert mark(COLUMN, trained).text() == "trained"
    nearly = origin(*(asked(TOLD) for _ in range(999)), asked(TOLD, order=4))
    assert mark(nearly, trained).text() == "trained (99 %)", "never all, and never none"


def test_retold_stories_are_the_same_stories_in_another_kind_of_question() -> None:
    structured = Example("explore_tom", "explore_tom", TOLD, "In which room was it?", "hall")
    retold = replace(structured, task="explore_tom_infilled", story="Once ...", id="")
    found = mark(origin(retold), Shown(trained=origin(structured)))
    assert found.connection is Connection.SHARING_STORIES


def test_other_answers_are_another_kind_of_question() -> None:
    ask = Example("fantom", "fantom_yes_no", "A: hi", "?", "yes", answer_kind="yes_no", order=1)
    names = replace(ask, task="fantom_list", story="B: ho", answer_kind="names", story_id="", id="")
    found = mark(origin(names), Shown(trained=origin(ask)))
    assert found.connection is Connection.SAME_GENERATOR
    assert origin(ask, names).unread == 2, "nobody knows the events of a conversation"


def test_arithmetic_shares_no_story() -> None:
    one = Example("arithmetic", "arithmetic", "", "1 + 1?", "2", answer_kind="number")
    assert origin(one).stories == {} and origin(one).structures == {}
    other = Example("gsm8k", "gsm8k", "", "2 + 2?", "4", answer_kind="number")
    assert mark(origin(other), Shown(trained=origin(one))).connection is Connection.HELD_OUT


def test_look_alikes_count_as_their_benchmark() -> None:
    names = ("hi_tom", "hi_tom_style", "hi_tom_style_prose", "fantom_style_log", "gsm8k")
    assert [generator_of(name) for name in names] == [*("hi_tom",) * 3, "fantom", "gsm8k"]


def test_every_connection_is_explained() -> None:
    assert list(MEANINGS) == list(Connection)
