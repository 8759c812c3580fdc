"""Boundaries and tense of clauses."""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.claims import nouns
from pipeline.tom.claims.sentence import BELIEVING, EVENTS, PASSED, PLACES, SUBJECTS, Sentence
from pipeline.tom.claims.tokens import Token
from pipeline.tom.claims.words import Role

_SO = frozenset({"so", "therefore", "thus", "hence", "then"})
_SHOWS = frozenset(
    {"mean", "means", "indicate", "indicates", "imply", "implies", "suggest", "suggests"}
)
_TURNS = frozenset({"but", "however", "so", "therefore", "thus", "hence", "consequently"})
"""Words between a counterfactual and the facts."""


def comma(sentence: Sentence, token: Token, index: int) -> None:
    clause, follows = sentence.clause, sentence.following(index)
    lists = follows is not None and follows.role is Role.PERSON and clause.verb is None
    if not (lists and clause.subject):
        sentence.hypothesis = False
    if sentence.outer is not None:
        outer, sentence.outer = sentence.outer, None
        sentence.reset()
        sentence.clause.believers, sentence.clause.subject = outer
        sentence.clause.verb = Role.BELIEVE
        return
    sentence.supposed = False
    clause.denied = False
    if clause.noun and not clause.stated and not _tells_place(sentence, index):
        sentence.reset()
        return
    if _is_aside(sentence, follows):
        sentence.outer = list(clause.believers), clause.subject
        sentence.reset()
        sentence.clause.closed = True
        return
    clause.interrupted = clause.verb is Role.BELIEVE and not (clause.stated or clause.fixed)
    if clause.subject is not None and clause.verb is None and not clause.believers:
        if not lists:
            sentence.main = sentence.main or clause.subject
        return
    if follows is not None and follows.role is Role.WHERE and sentence.last is not None:
        return
    if (
        clause.verb in EVENTS
        or clause.stated
        or clause.closed
        or (clause.verb is Role.BE and not clause.located)
    ):
        sentence.reset()


def _is_aside(sentence: Sentence, follows: Token | None) -> bool:
    """A comma that opens an aside on a believer: "thinks that Ben, who left,"."""
    clause = sentence.clause
    named = follows is not None and follows.role is Role.PERSON
    believing = clause.verb is Role.BELIEVE and bool(clause.believers) and not clause.stated
    return believing and bool(clause.subject) and not named


def _tells_place(sentence: Sentence, index: int) -> bool:
    follows = sentence.following(index)
    return follows is not None and follows.value == "which"


def colon(sentence: Sentence, token: Token, index: int) -> None:
    """A colon: what stands before it is a heading."""
    clause = sentence.clause
    follows = sentence.following(index)
    if clause.believers or clause.located:
        clause.closed = False
        if clause.noun and not clause.stated:  # "Ann's belief: she moved it to the box, so she"
            sentence.remember(clause.believers[-1])
            clause.fixed = True
        if clause.fixed and follows is not None and follows.role is Role.CONTAINER:  # "Ann: box"
            clause.located = sentence.item = True
            clause.closed = sentence.memory.history
    elif clause.verb is not Role.SPEAK:
        if sentence.former or clause.verb in EVENTS:
            sentence.item = sentence.memory.history = True
        sentence.reset()


def and_(sentence: Sentence, token: Token, index: int) -> None:
    """A conjunction: after something complete, a new clause begins."""
    clause, follows = sentence.clause, sentence.following(index)
    if follows is not None and follows.role in PLACES:
        return
    clause.denied = False
    if _goes_on(sentence, index):
        return
    if clause.subject is None and follows is not None and follows.role in SUBJECTS:
        sentence.reset()
        return
    idle = (
        clause.verb is Role.BELIEVE
        and not clause.stated
        and (clause.noun or (follows is not None and follows.role in BELIEVING))
    )
    if clause.verb in EVENTS or clause.stated or idle:
        sentence.reset()


def _goes_on(sentence: Sentence, index: int) -> bool:
    """A believed move goes on: "moved to the box and then to the jar"."""
    clause = sentence.clause
    if clause.verb is not Role.MOVE or not clause.believers:
        return False
    skipped = frozenset({Role.SKIP, Role.FINAL, Role.AND, Role.BREAK, Role.FORMER})
    follows = sentence.following(index, skipped)
    if follows is None or follows.role is not Role.TO:
        return False
    if sentence.found and sentence.found[-1].start == clause.start:
        sentence.found[-1] = replace(sentence.found[-1], former=True)
    return True


def or_(sentence: Sentence, token: Token, index: int) -> None:
    """An alternative: a place that is one of two is not stated."""
    clause = sentence.clause
    follows = sentence.following(index, frozenset({Role.SKIP, Role.IN}))
    if follows is not None and follows.role in PLACES and sentence.found and clause.stated:
        sentence.retract(clause.start)
        clause.closed = True


def break_(sentence: Sentence, token: Token, index: int) -> None:
    """A conjunction that opens a clause."""
    follows = sentence.following(index)
    if token.value == "then" and _goes_on(sentence, index):
        return
    if token.value == "but" and nouns.except_(sentence, token, index):
        return
    if token.value == "which" and sentence.clause.located and not sentence.clause.stated:
        return
    if token.value == "which" and _is_that(sentence, index):  # "believes what she heard, which is"
        sentence.reset()
        sentence.clause.believers, sentence.untold = sentence.untold, []
        sentence.clause.verb = Role.BELIEVE if sentence.clause.believers else None
        return
    if token.value == "as" and follows is not None and follows.role is Role.BE:
        return
    if token.value in _SO:
        sentence.former = sentence.hinted = False
    if token.value in _TURNS:
        sentence.unreal = False
    sentence.supposed = sentence.hypothesis = False
    clause = sentence.clause
    shows = token.value in _SHOWS
    denied = shows and (clause.denied or clause.negated)
    reported = shows and clause.subject is not None and clause.verb is None
    sentence.reset()
    sentence.clause.closed, sentence.clause.reported = denied, reported


def _is_that(sentence: Sentence, index: int) -> bool:
    after = [t.role for t in sentence.tokens[index + 1 : index + 5] if t.role not in PASSED]
    return after[:2] == [Role.BE, Role.THAT]


def when(sentence: Sentence, token: Token, index: int) -> None:
    """A clause about a moment."""
    clause = sentence.clause
    if clause.verb is Role.BELIEVE and clause.believers and not clause.stated:
        sentence.outer = list(clause.believers), None
    before = sentence.preceding(index)
    if not (before is not None and before.role is Role.NOT):
        sentence.former = True
    if clause.located and not clause.stated:
        return
    if before is not None and before is sentence.last and sentence.found:
        latest = sentence.found[-1]
        if latest.end == before.end and not latest.holders:
            sentence.found[-1] = replace(latest, former=True)
        elif clause.past and any(
            t.role is Role.PERCEIVE for t in sentence.tokens[index : index + 4]
        ):
            sentence.retract(latest.start)  # "it was there when she saw it" is no belief
    aside = sentence.main is not None
    sentence.reset()
    sentence.clause.aside = aside
    sentence.supposed = token.value == "before"


def former_(sentence: Sentence, token: Token, index: int) -> None:
    sentence.former = True


def moment(sentence: Sentence, token: Token, index: int) -> None:
    if sentence.clause.preposition is Role.IN:
        sentence.former = True


def final_(sentence: Sentence, token: Token, index: int) -> None:
    sentence.final = True


def now_(sentence: Sentence, token: Token, index: int) -> None:
    sentence.former = False


def silence(sentence: Sentence, token: Token, index: int) -> None:
    """The final answer, or the question: no claim."""
    sentence.silent = True
