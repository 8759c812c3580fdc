"""Reasoning traces: writing true ones from the engine, and checking the claims of any text.

A trace names the belief of every inner chain before that of the chain asked, so that each
statement is a belief claim that the engine can check.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import Chain
from pipeline.tom.question import WhereQuestion

# Bounded repetition keeps the search linear in the length of any text.
_CLAIM = re.compile(
    r"\b(?P<chain>(?:[A-Z]\w{0,30} (?:thinks|believes) (?:that )?){1,8})"
    r"(?:the \w{1,40} is (?:really )?in )?(?:the )?(?P<place>[a-z]\w{0,40})(?=\s{0,3}(?:[.,;\n]|$))"
    r"|\b[Tt]he \w{1,40} is really in the (?P<real>[a-z]\w{0,40})(?=\s{0,3}(?:[.,;\n]|$))"
)
_AGENT = re.compile(r"([A-Z]\w{0,30}) (?:thinks|believes)")


@dataclass(frozen=True, slots=True)
class BeliefClaim:
    """A statement of the form "this chain believes the object is there"."""

    chain: Chain
    container: str


def write_trace(question: WhereQuestion, beliefs: Beliefs) -> str:
    """Return true statements that lead to the answer, from the innermost agent outwards.

    For the chain (Ann, Bob): ``Bob thinks the fig is in the red_box. Ann thinks Bob thinks the fig
    is in the blue_jar.``
    """
    thing = question.object
    if not question.chain:
        return f"The {thing} is really in the {question.answer(beliefs)}."
    statements = []
    for start in reversed(range(len(question.chain))):
        chain = question.chain[start:]
        who = " ".join(f"{agent} thinks" for agent in chain)
        place = replace(question, chain=chain).answer(beliefs)
        statements.append(f"{who} the {thing} is in the {place}.")
    return " ".join(statements)


def find_claims(text: str) -> list[BeliefClaim]:
    """Return the belief claims made in free text, in order of appearance."""
    claims = []
    for match in _CLAIM.finditer(text):
        chain = tuple(_AGENT.findall(match["chain"])) if match["chain"] else ()
        claims.append(BeliefClaim(chain, match["place"] or match["real"]))
    return claims
