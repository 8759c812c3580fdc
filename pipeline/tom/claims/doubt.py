"""Words that make what is said untrue, or leave open whether it is: no, if, whether, might, "?"."""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.claims.clause import SUBJECTS, Clause
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.people import them
from pipeline.tom.claims.sentence import Sentence
from pipeline.tom.claims.tokens import Token

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
    """Whether a clause so far is one like "it is" and "it would be"."""
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
    """A condition; after what it is a condition of, or before."""
    before = sentence.preceding(index)
    trails = before is not None and (before.role is Role.COMMA or before is sentence.last)
    even = token.value == "unless" or sentence.tokens[index - 1].value == "even"
    sentence.suppose(trails=trails, real=even)


def whether(sentence: Sentence, token: Token, index: int) -> None:
    """A question inside a sentence."""
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
    """A question claims nothing."""
    sentence.found, sentence.silent = [], True
