"""A response in pieces, its claims about beliefs marked true or false."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.judge.items import Item
from pipeline.reward.fidelity import case_of
from pipeline.tom.claims.reader import END, BeliefClaim

LONGEST_SHOWN = 6_000
"""Characters of a response on the page; the whole is in the file."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a response.

    Attributes:
        text: Its text.
        true: Whether what it claims is true; None where it claims nothing.
        claim: What it claims, in words.
    """

    text: str
    true: bool | None = None
    claim: str = ""

    def as_json(self) -> str | list[object]:
        """It for machines: the text alone where it claims nothing."""
        return self.text if self.true is None else [self.text, int(self.true), self.claim]


def pieces(item: Item) -> list[Piece]:
    """A response in pieces, in order; one piece where the engine reads no claim in it."""
    found = _cut(item.response[:LONGEST_SHOWN], _claims(item))
    if rest := _rest(item.response):
        found.append(Piece(rest))
    return found


def shortened(response: str) -> str:
    """A response as the page shows it, without its claims."""
    return response[:LONGEST_SHOWN] + _rest(response)


def _rest(response: str) -> str:
    left_out = len(response) - LONGEST_SHOWN
    return f" [... {left_out} more characters]" if left_out > 0 else ""


def _claims(item: Item) -> list[tuple[BeliefClaim, bool]]:
    case = case_of(item.example)
    if case is None:
        return []
    claims = case.story.claims(item.response, case.question.object)
    return [(claim, case.story.holds(claim)) for claim in claims]


def _cut(text: str, claims: Sequence[tuple[BeliefClaim, bool]]) -> list[Piece]:
    """Cut a text at its claims; claims that overlap are one piece, true if all of them are."""
    found, position = list[Piece](), 0
    for start, end, true, words in _spans(claims):
        if end > len(text):
            break
        if start > position:
            found.append(Piece(text[position:start]))
        found.append(Piece(text[start:end], true, words))
        position = end
    return [*found, Piece(text[position:])] if position < len(text) else found


def _spans(claims: Sequence[tuple[BeliefClaim, bool]]) -> list[tuple[int, int, bool, str]]:
    spans = list[tuple[int, int, bool, str]]()
    for claim, true in sorted(claims, key=lambda pair: (pair[0].start, pair[0].end)):
        words = _words(claim, true)
        if spans and claim.start < spans[-1][1]:
            start, end, all_true, said = spans.pop()
            spans.append((start, max(end, claim.end), all_true and true, f"{said}; {words}"))
        else:
            spans.append((claim.start, claim.end, true, words))
    return spans


def _words(claim: BeliefClaim, true: bool) -> str:
    who = "".join(f"{holder} thinks: " for holder in claim.holders)
    where = f"{claim.object} {'not in' if claim.negated else 'in'} {claim.place}"
    when = "" if claim.when == END else ", earlier"
    return f"{who}{where}{when} ({'true' if true else 'false'})"
