"""Verbs and nouns of belief, events, and words that make a clause untrue or leave it open."""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.claims.nouns import them
from pipeline.tom.claims.sentence import EVENTS, SUBJECTS, Clause, Sentence
from pipeline.tom.claims.tokens import Token
from pipeline.tom.claims.words import Role

_SUPPOSING = frozenset({"suppose", "assume", "imagine"})
_ASSUMING = frozenset({"supposing", "assuming", "imagining"})


def negate(sentence: Sentence, token: Token, index: int) -> None:
    """A negation, which belongs to the verb before it ("is not") or after it."""
    clause, before = sentence.clause, sentence.preceding(index)
    if token.value == "far" and [each.value for each in sentence.tokens[index + 1 :][:1]] != [
        "from"
    ]:
        return
    if before is not None and before.role in (Role.BE, Role.WAS) and clause.verb is Role.BE:
        clause.negated = True
    clause.denied = True
    follows = sentence.following(index)
    if token.value == "neither" and not (follows and follows.role is Role.PERSON):
        them(sentence)


def hint(sentence: Sentence, token: Token, index: int) -> None:
    """ "There is no sign that Ann knows"."""
    clause = sentence.clause
    if clause.denied or clause.negated:
        clause.denied, sentence.hinted = False, True
    elif not clause.believers:
        clause.verb = Role.SPEAK


def true(sentence: Sentence, token: Token, index: int) -> None:
    """ "It is not true that"."""
    if _judges(sentence) and (sentence.clause.negated or sentence.clause.denied):
        _untrue(sentence)


def false(sentence: Sentence, token: Token, index: int) -> None:
    """ "... claims that it is in the box, which is false", or "it is false that"."""
    follows, before = sentence.following(index), sentence.preceding(index)
    if sentence.spoken is not None:
        sentence.clause = Clause(negated=True, start=sentence.spoken.start)
        sentence.state(sentence.spoken.value, sentence.spoken)
        sentence.spoken = None
    elif _judges(sentence) and follows is not None and follows.role in (Role.THAT, Role.TO):
        _untrue(sentence)
    elif before is not None and before.role is Role.BE and sentence.found:
        latest = sentence.found[-1]  # "the claim that it is in the box is false"
        if sentence.tokens[index - 2].end == latest.end:
            sentence.found[-1] = replace(latest, negated=not latest.negated)


def _judges(sentence: Sentence) -> bool:
    """A clause without content of its own, such as "it is" or "it would be"."""
    clause = sentence.clause
    return clause.subject is None and not clause.believers and not clause.stated


def _untrue(sentence: Sentence) -> None:
    start = sentence.clause.start
    sentence.reset()
    sentence.clause.untrue, sentence.clause.start = True, start


def that(sentence: Sentence, token: Token, index: int) -> None:
    """ "The answer is that"; a negation does not reach over it, but "it is not clear that" does."""
    clause = sentence.clause
    sentence.silent = clause.denied = False
    if clause.negated and not (clause.believers or clause.stated or clause.located):
        clause.closed = True


def if_(sentence: Sentence, token: Token, index: int) -> None:
    """A condition, before or after the clause that depends on it."""
    before = sentence.preceding(index)
    trails = before is not None and (before.role is Role.COMMA or before is sentence.last)
    even = token.value == "unless" or sentence.tokens[index - 1].value == "even"
    sentence.suppose(trails=trails, real=even)


def whether(sentence: Sentence, token: Token, index: int) -> None:
    sentence.reset()
    sentence.clause.closed = True


def hedge(sentence: Sentence, token: Token, index: int) -> None:
    """ "Ann might think"; "perhaps, ..." and "at first glance, ..." up to a turn such as "but"."""
    follows = sentence.following(index)
    if follows is not None and follows.role is Role.COMMA:
        sentence.unreal = True
    else:
        sentence.clause.closed = True


def have(sentence: Sentence, token: Token, index: int) -> None:
    """ "She has no knowledge of it being in the box"; "had he stayed"."""
    clause, follows = sentence.clause, sentence.following(index)
    if token.value == "had":
        told = clause.stated or not clause.thing
        inverted = clause.subject is None and told and follows is not None
        if inverted and follows is not None and follows.role in SUBJECTS:
            sentence.suppose(trails=True)
        sentence.doubt()
    if token.value.startswith("lack"):
        clause.denied = True
    if clause.subject is not None:
        sentence.remember(clause.subject)
    clause.having = clause.subject


def were(sentence: Sentence, index: int) -> None:
    """ "If she were there": of one person, what never was."""
    people, follows = sentence.clause.subject, sentence.following(index)
    if people and len(people) == 1 and not (follows and follows.role is Role.TO):
        sentence.doubt()


def suppose(sentence: Sentence, token: Token, index: int) -> None:
    """ "Suppose that", "if we assume that"; "assuming that" may be so."""
    if token.value in _SUPPOSING and (index == 0 or sentence.hypothesis):
        sentence.suppose()
        sentence.doubt()
    elif token.value in _ASSUMING and index == 0:
        sentence.suppose()
    elif token.value == "knew":
        sentence.doubt()


def ask(sentence: Sentence, token: Token, index: int) -> None:
    sentence.found, sentence.silent = [], True


_MODAL = frozenset({"will", "would", "should", "might", "may", "must", "could"})


def believe(sentence: Sentence, token: Token, index: int) -> None:
    """A verb of belief: its subject becomes one more believer."""
    clause, before = sentence.clause, sentence.preceding(index)
    suppose(sentence, token, index)
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
    """A verb of search: people look for a thing where they believe it is."""
    clause, follows = sentence.clause, sentence.following(index)
    at = follows is not None and follows.value == "at"
    would = any(before.value in _MODAL for before in sentence.tokens[max(0, index - 2) : index])
    if clause.subject is None or at or (token.value == "check" and not would):
        return
    sentence.add_believer(clause.subject)
    sentence.settle_negation()
    clause.located = True


def belief(sentence: Sentence, token: Token, index: int) -> None:
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
    """Reported speech follows: "Ann claims", "Ann's claim that"."""
    clause, follows = sentence.clause, sentence.following(index)
    noun = clause.owner is not None and follows is not None and follows.role is Role.THAT
    return clause.subject is not None or noun or token.value.endswith("ing")


def be(sentence: Sentence, token: Token, index: int) -> None:
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
        were(sentence, index)
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
