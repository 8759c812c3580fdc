"""Places, and the words that lead to them."""

from __future__ import annotations

from pipeline.tom.claims.clause import NOBODY
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.sentence import Sentence
from pipeline.tom.claims.tokens import Token


def location(sentence: Sentence, token: Token, index: int) -> None:
    """A noun for a place: what follows a form of "be" is the place."""
    clause = sentence.clause
    clause.located = not clause.seen
    owner = clause.owner or clause.having
    if owner is not None:
        if clause.known:
            sentence.add_believer(owner)
            clause.located = True
        elif not clause.believers:
            clause.owner = None
    clause.subject, clause.thing = None, False


def seen(sentence: Sentence, token: Token, index: int) -> None:
    """The location of an event."""
    sentence.clause.seen = True


def preposition(sentence: Sentence, token: Token, index: int) -> None:
    """A word before a place."""
    clause, everyone = sentence.clause, sentence.memory.everyone
    clause.preposition = token.role
    if token.role is Role.IN and clause.verb is None and clause.subject is everyone:
        clause.subject = NOBODY  # "everyone in the hall" is not everyone


def where(sentence: Sentence, token: Token, index: int) -> None:
    """A place named before its clause ("the box, where Ann thinks it is"), or a question."""
    clause, before = sentence.clause, sentence.preceding(index)
    if sentence.last is not None and before is not None:
        near = before is sentence.last or before.role in (Role.COMMA, Role.BE, Role.BREAK)
        if near and clause.verb is not Role.BELIEVE:
            place, start = sentence.last.value, clause.start
            sentence.reset()
            sentence.clause.place_before, sentence.clause.start = place, start
            return
    if clause.verb is Role.BE and clause.believers:  # "thinks it is where she saw it, which is"
        clause.located = True
    clause.closed = not clause.located


def what(sentence: Sentence, token: Token, index: int) -> None:
    """Opens a clause that says nothing: "what she thinks"."""
    sentence.clause.closed = True


def there(sentence: Sentence, token: Token, index: int) -> None:
    """ "There" for the last place, where something is said to be in it."""
    clause, follows = sentence.clause, sentence.following(index)
    if follows is not None and follows.role in (Role.BE, Role.WAS):
        return
    moved = clause.verb is Role.MOVE and bool(clause.believers) and not clause.fixed
    if sentence.memory.place and (moved or (clause.verb is Role.BE and clause.thing)):
        sentence.state(sentence.memory.place, token)


def place(sentence: Sentence, token: Token, index: int) -> None:
    """A place: a claim, if something is said to be there."""
    clause = sentence.clause
    sentence.last = token
    if clause.verb is Role.SPEAK and not clause.stated:
        sentence.spoken = token
    elif sentence.is_claim(token):
        sentence.state(token.value, token)
    if token.role is Role.CONTAINER:
        sentence.memory.place = sentence.memory.recent = token.value
    clause.stated = True


def invented(sentence: Sentence, token: Token, index: int) -> None:
    """A place that the story does not have: a claim where it can be nothing else.

    Somebody believes that the object asked about *is* there.
    """
    clause, memory = sentence.clause, sentence.memory
    plain = clause.verb is Role.BE and clause.thing and bool(clause.believers)
    if plain and not clause.stated and memory.object == memory.asked and sentence.is_claim(token):
        sentence.state(token.value, token)
        clause.stated = True


def respectively(sentence: Sentence, token: Token, index: int) -> None:
    """Believers and places are told in the same order."""
    sentence.respective = True
