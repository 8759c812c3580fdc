"""Simpler minds: the engine's answers for somebody who lacks a part of what belief takes.

They stand between rules, which follow no one, and beliefs. Each tracks something that a rule on the
surface does not, and misses something that the gold answer needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import Rules
from pipeline.tom.story import Claim, Report, Story

Part = Literal["all", "none", "outermost", "innermost", "two innermost"]


@dataclass(frozen=True, slots=True)
class Mind:
    """A mind that lacks something.

    Attributes:
        lacks: What it lacks, in words.
        keeps: Which agents of the chain asked about it thinks of.
        hears: Whether what is said changes beliefs at all.
        doubts: Whether anybody who hears a claim may doubt it.
    """

    lacks: str
    keeps: Part = "all"
    hears: bool = True
    doubts: bool = True

    def asked(self, question: WhereQuestion) -> WhereQuestion:
        """The question as this mind takes it."""
        parts = {
            "all": question.chain,
            "none": (),
            "outermost": question.chain[:1],
            "innermost": question.chain[-1:],
            "two innermost": question.chain[-2:],
        }
        return replace(question, chain=parts[self.keeps])


MINDS: Mapping[str, Mind] = {
    "reality": Mind("answers with the object's real place whoever is asked about", keeps="none"),
    "outermost belief": Mind(
        "answers with what the first agent asked about believes", keeps="outermost"
    ),
    "innermost belief": Mind(
        "answers with what the last agent asked about believes", keeps="innermost"
    ),
    "two orders": Mind("nests two beliefs at most", keeps="two innermost"),
    "sight alone": Mind("tracks who sees what but ignores claims", hears=False),
    "everybody believed": Mind("assumes that every listener believes every claim", doubts=False),
}
"""Every simpler mind, by the name that verdicts show."""


def answers_of_minds(events: Story, question: WhereQuestion, rules: Rules) -> dict[str, str | None]:
    """What each simpler mind answers; None where it has no belief."""
    known = _known(events, rules)
    return {
        name: mind.asked(question).answer(known[mind.hears, mind.doubts])
        for name, mind in MINDS.items()
    }


@lru_cache(maxsize=256)  # several questions about a story usually follow each other
def _known(events: Story, rules: Rules) -> dict[tuple[bool, bool], Beliefs]:
    """What follows from a story for minds that hear or do not, and doubt or do not."""
    told = tuple(event for event in events if not isinstance(event, Claim | Report))
    kinds = {(mind.hears, mind.doubts) for mind in MINDS.values()}
    if told == events:  # with nothing to hear or to doubt, all know the same
        return dict.fromkeys(kinds, beliefs(events, rules))
    return {
        (hears, doubts): beliefs(events if hears else told, replace(rules, all_trusted=not doubts))
        for hears, doubts in kinds
    }
