"""Simpler minds on one story, by hand: each lacks one thing, and answers by all the others."""

from __future__ import annotations

import pytest

from pipeline.tom.belief import beliefs
from pipeline.tom.minds import MINDS, answers_of_minds
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM
from pipeline.tom.story import Claim, Enter, Exit, Move, Place

EVENTS = (
    Enter(("Ann", "Ben", "Cara"), "hall"),
    Place("fig", "jar", "hall"),
    Exit("Ann", "hall"),
    Move("Ben", "fig", "box"),
    Exit("Ben", "hall"),
    Move("Cara", "fig", "tin"),
    Exit("Cara", "hall"),
    Claim("Ann", "Cara", "fig", "bag"),  # who left later, and doubts it
    Claim("Ben", "Ann", "fig", "cup"),  # who left before him, and trusts it
)


@pytest.mark.parametrize(
    ("chain", "gold", "said"),
    [
        (("Ann", "Ben", "Cara"), "jar", ("tin", "cup", "tin", "box", "jar", "jar")),
        (("Cara", "Ann"), "jar", ("tin", "tin", "cup", "jar", "jar", "bag")),
        (("Ann", "Ben"), "cup", ("tin", "cup", "box", "cup", "jar", "cup")),
    ],
)
def test_each_mind_misses_what_it_lacks(
    chain: tuple[str, ...], gold: str, said: tuple[str, ...]
) -> None:
    """Reality, outermost, innermost, two orders, sight alone, everybody believed."""
    question = WhereQuestion("fig", chain)
    assert question.answer(beliefs(EVENTS, HI_TOM)) == gold
    assert answers_of_minds(EVENTS, question, HI_TOM) == dict(zip(MINDS, said, strict=True))
