"""Who and what a sentence is about: names and pronouns."""

from __future__ import annotations

from pipeline.tom.claims.clause import NOBODY
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.sentence import Sentence
from pipeline.tom.claims.tokens import Token


def person(sentence: Sentence, token: Token, index: int) -> None:
    """A name: a subject, an owner, or one more of several."""
    clause, before = sentence.clause, sentence.preceding(index)
    if token.owner:
        clause.owner = (token.value,)
        return
    if sentence.tokens[max(0, index - 2)].role is Role.ACCORDING:  # "according to Ann"
        sentence.add_believer((token.value,), heading=True)
        return
    joined = before is not None and before.role in (Role.AND, Role.OR, Role.COMMA)
    if joined and clause.subject and clause.verb in (None, Role.BELIEVE) and not clause.stated:
        clause.subject = (*clause.subject, token.value)
        if len(clause.subject) > 1:
            sentence.memory.people = clause.subject
    else:
        sentence.set_subject((token.value,))
    follows = sentence.following(index)
    heads = clause.verb is None and not clause.believers and not clause.stated
    if follows is not None and follows.role is Role.COLON and heads:
        sentence.add_believer(clause.subject or (token.value,), heading=True)
    elif before is not None and before.role in (Role.FOR, Role.TO) and clause.located:
        sentence.add_believer((token.value,))


def he(sentence: Sentence, token: Token, index: int) -> None:
    """A pronoun for one person; in "Ann thinks Ben thinks she" for the other one."""
    clause, people = sentence.clause, sentence.memory.person
    nested = clause.verb is Role.BELIEVE and not clause.stated and len(clause.believers) > 1
    if nested and clause.believers[-1] == people:
        people = clause.believers[-2]
    sentence.set_subject(people)


def they(sentence: Sentence, token: Token, index: int) -> None:
    """A pronoun for several persons, or for one."""
    follows = sentence.following(index)
    if token.value == "both" and follows is not None and follows.role is Role.PERSON:
        return
    sentence.set_subject(sentence.memory.people or sentence.memory.person)


def his(sentence: Sentence, token: Token, index: int) -> None:
    """A possessive pronoun."""
    sentence.clause.owner = sentence.memory.person


def their(sentence: Sentence, token: Token, index: int) -> None:
    """A possessive pronoun of several."""
    sentence.clause.owner = sentence.memory.people or sentence.memory.person


def somebody(sentence: Sentence, token: Token, index: int) -> None:
    """People without names."""
    sentence.set_subject(NOBODY)


def who(sentence: Sentence, token: Token, index: int) -> None:
    """Begins to tell more about a person."""
    sentence.clause.thing = False
    if sentence.clause.subject is None:
        sentence.clause.subject = NOBODY


def we(sentence: Sentence, token: Token, index: int) -> None:
    """Nobody of the story: "we know" says what is so."""
    sentence.reset()
    sentence.clause.subject, sentence.clause.thing = None, True


def thing(sentence: Sentence, token: Token, index: int) -> None:
    """An object."""
    sentence.memory.object = token.value
    _thing(sentence, index)


def it(sentence: Sentence, token: Token, index: int) -> None:
    """A pronoun for an object."""
    _thing(sentence, index)


def _thing(sentence: Sentence, index: int) -> None:
    clause, before = sentence.clause, sentence.preceding(index)
    if clause.verb in (None, Role.BELIEVE, Role.BE) or clause.stated:
        clause.subject, clause.thing = None, True
    clause.with_thing = before is not None and before.role is Role.WITH
