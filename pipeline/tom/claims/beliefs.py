"""Beliefs and events: the verbs and nouns that decide what a place means."""

from __future__ import annotations

from pipeline.tom.claims import doubt
from pipeline.tom.claims.clause import EVENTS
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.sentence import Sentence
from pipeline.tom.claims.tokens import Token

_MODAL = frozenset({"will", "would", "should", "might", "may", "must", "could"})


def believe(sentence: Sentence, token: Token, index: int) -> None:
    """A verb of belief: its subject is one more believer."""
    clause, before = sentence.clause, sentence.preceding(index)
    doubt.suppose(sentence, token, index)
    if clause.reported and not clause.stated:
        clause.closed = True
    if clause.owner is not None:
        if token.value in ("thought", "understanding"):
            belief(sentence, token, index)
            return
        clause.owner = None
    if before is not None and before.role is Role.IT and token.value in ("thinks", "believes"):
        clause.subject = sentence.memory.person  # "it thinks", of a person
    elif clause.thing and not clause.believers:  # "it is known that", "we can conclude that"
        clause.thing, clause.verb = False, None
        sentence.settle_negation()
        return
    if clause.located and clause.verb is Role.BE and clause.believers and not clause.stated:
        clause.subject = None  # "thinks it is in the last place she knew of, which is"
        return
    people = clause.subject
    if people is None:
        participle = token.value.endswith("ing")
        if before is None and participle:  # "Assuming that nothing changed, ..."
            return
        continues = before is None or before.role in (
            Role.AND,
            Role.COMMA,
            Role.BREAK,
            Role.COLON,
            Role.NOT,
        )
        people = sentence.main if sentence.main is not None else sentence.memory.person
        if not continues and not participle and sentence.main is None:
            return
        if clause.fixed and clause.believers:  # "Ann: believes it is in"
            clause.fixed = False
            clause.verb = Role.BELIEVE
            sentence.settle_negation()
            return
    sentence.add_believer(people)
    sentence.settle_negation()


def unaware(sentence: Sentence, token: Token, index: int) -> None:
    """A word that negates a belief; that of nobody in the story leaves open what follows."""
    if sentence.clause.thing and not sentence.clause.believers:  # "I doubt that Ann thinks"
        sentence.clause.closed = True
        return
    sentence.clause.denied = True
    believe(sentence, token, index)


def look(sentence: Sentence, token: Token, index: int) -> None:
    """A verb of search: where one looks for a thing is where one thinks that it is."""
    clause, follows = sentence.clause, sentence.following(index)
    at = follows is not None and follows.value == "at"
    would = any(before.value in _MODAL for before in sentence.tokens[max(0, index - 2) : index])
    if clause.subject is None or at or (token.value == "check" and not would):
        return
    sentence.add_believer(clause.subject)
    sentence.settle_negation()
    clause.located = True


def belief(sentence: Sentence, token: Token, index: int) -> None:
    """A noun for a belief: its owner is a believer."""
    clause = sentence.clause
    owner = clause.owner or clause.having
    if owner is not None:
        sentence.add_believer(owner, noun=clause.having is None)
        sentence.settle_negation()
        clause.located = clause.noun = True
    else:
        clause.subject, clause.thing = None, False


def view(sentence: Sentence, token: Token, index: int) -> None:
    """A heading such as "from Ann's perspective"."""
    clause = sentence.clause
    if clause.owner is not None:
        sentence.add_believer(clause.owner, heading=True)


def known(sentence: Sentence, token: Token, index: int) -> None:
    """The location of a belief, after its owner; or "she has not known that"."""
    before = sentence.preceding(index)
    if sentence.clause.having and before and before.role in (Role.HAVE, Role.NOT):
        believe(sentence, token, index)
    else:
        sentence.clause.known = True


def event(sentence: Sentence, token: Token, index: int) -> None:
    """A verb of an event; after a verb of belief it tells what is believed."""
    clause, role = sentence.clause, token.role
    if token.value == "found" and clause.verb is Role.BE and clause.thing:
        return
    if role is Role.SPEAK and token.value == "state" and clause.owner is not None:
        belief(sentence, token, index)
        return
    if clause.located and not clause.stated:
        if clause.believers:  # "thinks it is in the last place she saw it, which is"
            clause.subject = None
            return
        clause.seen = not clause.known
    people = clause.subject
    if role is Role.SPEAK and _is_told(sentence, token, index):
        clause.reported = True
        sentence.doubt()
    if role is Role.PERCEIVE and not clause.denied and sentence.tokens[index - 1].value != "last":
        sentence.doubt()  # "if she had seen it", "if she saw it"
    if people is not None and not (clause.verb is Role.BELIEVE and clause.believers):
        sentence.remember(people)
    if role is Role.SPEAK and clause.denied and not clause.believers:
        clause.closed = True
    believing = clause.verb is Role.BELIEVE and not clause.fixed and not clause.stated
    if believing and role is Role.PERCEIVE and people and people != clause.believers[-1]:
        clause.believers.append(people)
    elif not believing and clause.stated:
        clause.believers, clause.negated = [], False
    if believing and clause.denied:
        clause.negated = True
    clause.denied = False
    if believing and role in (Role.MOVE, Role.PERCEIVE):
        clause.fixed = False
    clause.verb = role
    clause.subject, clause.owner = None, None


def _is_told(sentence: Sentence, token: Token, index: int) -> bool:
    """Whether what follows is what somebody says: "Ann claims", "Ann's claim that"."""
    clause, follows = sentence.clause, sentence.following(index)
    noun = clause.owner is not None and follows is not None and follows.role is Role.THAT
    return clause.subject is not None or noun or token.value.endswith("ing")


def be(sentence: Sentence, token: Token, index: int) -> None:
    """A form of "be"."""
    clause = sentence.clause
    if clause.subject is not None and sentence.main is None:
        sentence.remember(clause.subject)
    told = (
        clause.believers and not clause.stated
    )  # a believed event: "knows it was moved and is in"
    if clause.verb is Role.SPEAK and not clause.stated:
        return
    clause.past = clause.past or token.role is Role.WAS
    clause.stays = token.value.startswith("stay")
    if token.value == "were":
        doubt.were(sentence, index)
    if clause.verb is Role.BELIEVE and clause.subject:
        pass  # "Ann thinks Ben is": of a person
    elif clause.verb not in EVENTS or clause.thing or clause.located or told:
        clause.verb = Role.BE
    if not clause.subject:  # else "would not be aware"
        sentence.settle_negation()


def this(sentence: Sentence, token: Token, index: int) -> None:
    """ "Ann moved it to the box, so she knows this"."""
    follows = sentence.following(index)
    ends = follows is None or follows.role in (Role.COMMA, Role.AND, Role.BREAK)
    clause, place = sentence.clause, sentence.memory.recent
    if ends and place and clause.verb is Role.BELIEVE and clause.believers:
        sentence.state(place, token)
        clause.stated = True
