"""The belief claims of a response: which there are, and whether each is about the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.tom.claims.clause import ClauseMemory, FoundClaim
from pipeline.tom.claims.reading import read_sentence
from pipeline.tom.claims.tokens import is_copied, sentences
from pipeline.tom.claims.vocabulary import Vocabulary
from pipeline.tom.observation import Chain

END, EARLIER = "end", "earlier"
# The final answer is no claim, and neither is a sentence copied from the story; a tag is no verb.
_ANSWER = re.compile(
    r"<answer>[^<]{0,2000}|\"answer\"\s*:[^\n}]{0,2000}|\"thinking\"\s*:|</?think>", re.IGNORECASE
)
LONGEST_RESPONSE = 20_000
"""Characters that are read, about twice the longest response of Study 1."""


@dataclass(frozen=True, slots=True)
class BeliefClaim:
    """A statement about where something is, or is believed to be.

    Attributes:
        holders: The believers, outermost first; none for the world.
        object: What is said to be there.
        place: Where it is said to be.
        negated: Whether it is said not to be there, or not to be known there.
        when: ``end`` for the end of the story, ``earlier`` for a former moment.
        start: Where the statement begins in the response, in characters.
        end: Where it ends.
    """

    holders: Chain
    object: str
    place: str
    negated: bool
    when: str
    start: int
    end: int


def read_claims(text: str, vocabulary: Vocabulary, thing: str = "") -> list[BeliefClaim]:
    """The claims that a response makes, each once, in order; linear in its length.

    Args:
        text: The response; its first ``LONGEST_RESPONSE`` characters are read.
        vocabulary: The names of its story.
        thing: The object asked about, which "it" means until another is named.
    """
    text = _ANSWER.sub(lambda match: "\n".ljust(len(match.group())), text[:LONGEST_RESPONSE])
    memory, found = ClauseMemory(thing, thing, vocabulary.everyone), list[FoundClaim]()
    for tokens, words in sentences(text, vocabulary):
        claims = read_sentence(tokens, memory)
        if claims and not is_copied(words, vocabulary):
            found += claims
    return list(_distinct(found))


def _distinct(found: list[FoundClaim]) -> Iterator[BeliefClaim]:
    seen = set[tuple[object, ...]]()
    last = {(each.holders, each.object): each.place for each in found if not each.negated}
    for each in found:
        when = _when(each, last)
        key = (each.holders, each.object, each.place, each.negated, when)
        if key not in seen:
            seen.add(key)
            yield BeliefClaim(
                each.holders, each.object, each.place, each.negated, when, each.start, each.end
            )


def _when(found: FoundClaim, last: dict[tuple[Chain, str], str]) -> str:
    if found.final:
        return END
    changes = last.get((found.holders, found.object), found.place) != found.place
    if found.holders:
        return EARLIER if found.former and changes else END
    return EARLIER if found.former or found.past or changes else END
