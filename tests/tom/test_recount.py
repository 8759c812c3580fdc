"""Traces that recount: who learned of each place, and a belief that can be read off."""

from __future__ import annotations

from random import Random

from pipeline.tom.belief import beliefs
from pipeline.tom.claims.reader import read_claims
from pipeline.tom.claims.vocabulary import Vocabulary
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.hi_tom_items import generate_item
from pipeline.tom.parse.hi_tom import parse_question
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import Claim, Enter, Exit, Move, Place, agents_of
from pipeline.tom.trace import write_recount

EVENTS = (
    Enter(("Ann", "Ben", "Cara"), "hall"),
    Place("fig", "jar", "hall"),
    Exit("Ann", "hall"),
    Move("Ben", "fig", "box"),
    Exit("Ben", "hall"),
    Exit("Cara", "hall"),
    Claim("Cara", "Ben", "fig", "bag"),
    Claim("Ann", None, "fig", "tin"),
)


def test_it_says_who_saw_and_who_trusts_what_was_said() -> None:
    told = write_recount(WhereQuestion("fig", ("Ann", "Ben")), EVENTS, beliefs(EVENTS))
    assert told == (
        "jar: Ann Ben Cara. box: Ben Cara. bag from Cara: Ben trusts. "
        "tin from Ann: Ben doubts. Cara doubts. Ann thinks Ben thinks the fig is in the tin."
    )
    world = write_recount(WhereQuestion("fig", ()), EVENTS, beliefs(EVENTS))
    assert world.endswith("Cara doubts. The fig is really in the box.")


def test_its_one_claim_is_the_answer() -> None:
    settings = HiTomSettings(agents=3, tell=True, noise=0.3, structure="free")
    for seed in range(100):
        item = generate_item(settings, Random(seed))
        known = beliefs(item.events)
        for question in item.questions:
            asked = parse_question(question.text)
            names = Vocabulary(
                people=frozenset(agents_of(item.events)),
                objects=frozenset({asked.object}),
                containers=frozenset(o.value for o in known.observations if o.value),
            )
            (claim,) = read_claims(write_recount(asked, item.events, known), names, asked.object)
            assert (claim.holders, claim.place) == (asked.chain, question.answer)
