"""Free prose that claims what is asked before it comes to its conclusion."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.reward.fidelity import Case, case_of
from pipeline.tasks.example import Example
from pipeline.tom.claims.reader import END, BeliefClaim
from pipeline.tom.edits import Told
from pipeline.tom.recount import read_lines

CLAIMED = "claimed"
"""The kind of edit that puts another place into a claim of what is asked."""

_SENTENCE_END = re.compile(r"[.!?\n]+|$")


@dataclass(frozen=True, slots=True)
class Claimed:
    """Reasoning that claims where the chain of believers asked about believes the object to be.

    The claim is not its conclusion: a later sentence names another place.

    Attributes:
        case: The story and the question.
        text: The reasoning up to the end of the sentence with the claim.
        start: Where the place stands in it, in characters.
        place: The place claimed.
        later: The places named after the sentence.
    """

    case: Case
    text: str
    start: int
    place: str
    later: frozenset[str]

    @property
    def places(self) -> tuple[str, ...]:
        """The places that can be claimed: those of the story."""
        return tuple(sorted(self.case.story.vocabulary.containers))

    def edited(
        self, others: Sequence[Told], refused: Collection[str], random: Random
    ) -> Iterator[tuple[str, str, str]]:
        """Yield an edit: its kind, how the response begins then, and the place claimed.

        It ends with the edited sentence: all that follows, the model says itself. What followed
        before names yet another place.
        """
        free = [p for p in self.places if p != self.place and p not in refused]
        choice = [p for p in free if self.later - {self.place, p}]
        if not choice:
            return
        place, end = random.choice(choice), self.start + len(self.place)
        apart = " " if self.text[self.start : end].count("_") < self.place.count("_") else "_"
        begun = self.text[: self.start] + place.replace("_", apart) + self.text[end:]
        last = _claims(self.case, begun)[-1:]
        if [each.place for each in last] == [place]:
            yield CLAIMED, begun, place

    def stands(self, begun: str, after: str, place: str) -> bool:
        """Whether what the model went on with names another place, so that none need be copied."""
        return any(name != place for _, name in _named(self.case, after))


def read_claimed(example: Example, reasoning: str) -> Claimed | None:
    """Reasoning as one with a claim that can be edited, the last one; None where it has none."""
    case = case_of(example)
    if case is None:
        return None
    if any(each.line.place in case.story.vocabulary.containers for each in read_lines(reasoning)):
        return None  # a recount, in whatever form
    for claim in reversed(_claims(case, reasoning)):
        end = _ends(reasoning, claim)
        later = frozenset(name for _, name in _named(case, reasoning[end:]))
        begin = max(reasoning.rfind(sign, 0, claim.start) for sign in ".!?\n") + 1
        inside = _named(case, reasoning[begin:end])
        if later - {claim.place} and [name for _, name in inside] == [claim.place]:
            return Claimed(case, reasoning[:end], begin + inside[0][0], claim.place, later)
    return None


def _claims(case: Case, text: str) -> list[BeliefClaim]:
    """What a text claims of the chain asked about, as it is at the end."""
    asked = case.question
    return [
        each
        for each in case.story.claims(text, asked.object)
        if (each.holders, each.object, each.when) == (asked.chain, asked.object, END)
        and not each.negated
    ]


def _ends(text: str, claim: BeliefClaim) -> int:
    """Where the sentence of a claim ends, without white space after it."""
    found = _SENTENCE_END.search(text, claim.end)
    return len(text) if found is None else len(text[: found.end()].rstrip())


def _named(case: Case, text: str) -> list[tuple[int, str]]:
    """Where a text names places of the story, and which."""
    known = {place.lower(): place for place in case.story.vocabulary.containers}
    names = sorted((re.escape(name).replace("_", "[_ ]") for name in known), key=len, reverse=True)
    found = re.finditer(rf"\b(?:{'|'.join(names)})\b", text, re.IGNORECASE) if names else ()
    return [(each.start(), known[each.group().lower().replace(" ", "_")]) for each in found]
