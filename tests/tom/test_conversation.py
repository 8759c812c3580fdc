"""Rules about who speaks, on small conversations of every manner and on the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.rules.listed import baselines
from pipeline.rules.reading import read_all
from pipeline.tasks.registry import get
from pipeline.tom.conversation import (
    SUSPECTS,
    speakers,
    speaks_first,
    speaks_least,
    suspect_answer,
)

TOLD = ("Ann", "Bob", "Cleo", "Bob", "Cleo")
MANNERS = ("{who}: Well, so it is.", '"Well, so it is!" said {who}.', "<{who}> well, so it is")


def talk(manner: str) -> str:
    return "\n".join(manner.format(who=who) for who in TOLD)


@pytest.mark.parametrize("manner", MANNERS)
def test_speakers_are_found_in_every_manner(manner: str) -> None:
    text = talk(manner)
    assert speakers(text) == TOLD
    assert speaks_first(text) == speaks_least(text) == "Ann"
    assert speaks_least(text + "\n" + manner.format(who="Ann")) is None  # two lines each


@pytest.mark.parametrize("text", ["", "Ann entered the hall.", "Ann: I am alone.", "[09:00] x: y."])
def test_other_texts_are_no_conversations(text: str) -> None:
    assert speakers(text) == ()
    assert suspect_answer(speaks_first, text, "Does Ann know it? Answer yes or no.") is None


def test_the_suspect_does_not_know_and_everybody_else_does() -> None:
    text = talk(MANNERS[0])

    def said(question: str, *choices: str) -> str | None:
        return suspect_answer(speaks_least, text, question, choices)

    assert said("Does Ann know the precise answer? Answer yes or no.") == "no"
    assert said("Does Bob know about this? Answer yes or no.") == "yes"
    assert said("List all the characters who know this.") == "Bob, Cleo"
    assert said("List all the characters who know this.", "Cleo", "Ann", "Bob") == "Cleo, Bob"
    options = ("X believes that it rains.", "X does not know where it rains.")
    assert said("What does Ann believe about the rain?", *options) == options[1]
    assert said("What does Bob think that Ann believes?", *options) == options[0]
    assert said("Where does it rain?", *options) is None


def test_on_the_real_yes_no_questions(mirror: Path) -> None:
    rules = baselines(read_all(get("fantom_yes_no").examples(mirror)))
    found = {n: round(100 * rules[n].accuracy, 1) for n in ("speaks first", "speaks least")}
    assert found == {"speaks first": 61.7, "speaks least": 89.2}
    assert max(rules, key=lambda name: rules[name].accuracy) == "speaks least"
    assert {name.replace(" ", "_") for name in found} == set(SUSPECTS)
