"""Names, pronouns, and words that lead to places."""

from __future__ import annotations

from pipeline.tom.claims.sentence import NOBODY, PASSED, Sentence
from pipeline.tom.claims.tokens import Token
from pipeline.tom.claims.words import Role

_NEGATED = frozenset({Role.BELIEVE, Role.EXCEPT})
_BEFORE_EXCEPTED = PASSED | {Role.FOR}
_BEFORE_BELIEF = PASSED | {Role.BE, Role.WAS, Role.HAVE, Role.ABOUT, Role.ALL, Role.AGENT}


def person(sentence: Sentence, token: Token, index: int) -> None:
    """A name: a subject, an owner, or one more of several."""
    clause, before = sentence.clause, sentence.preceding(index)
    if token.owner:
        clause.owner = (token.value,)
        return
    if sentence.tokens[max(0, index - 2)].role is Role.ACCORDING:  # "according to Ann"
        sentence.add_believer((token.value,), heading=True)
        return
    if clause.excepted and clause.subject is not None:
        clause.subject = tuple(name for name in clause.subject if name != token.value)
        return
    joined = before is not None and (
        before.role in (Role.AND, Role.OR, Role.COMMA) or before.value == "nor"
    )
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
    sentence.set_subject(sentence.memory.people or sentence.memory.person)


def his(sentence: Sentence, token: Token, index: int) -> None:
    sentence.clause.owner = sentence.memory.person


def their(sentence: Sentence, token: Token, index: int) -> None:
    sentence.clause.owner = sentence.memory.people or sentence.memory.person


def somebody(sentence: Sentence, token: Token, index: int) -> None:
    """People without names: all of the story, the others, or no one in particular."""
    match token.value:
        case "everyone" | "everybody":
            everyone(sentence)
        case "others" | "rest" | "else":
            others(sentence, index)
        case "nobody" | "none":
            nobody(sentence, index)
        case "characters" | "people" if _is_counted(sentence, index):
            agent(sentence, token, index)
        case _:
            sentence.set_subject(NOBODY)


def agent(sentence: Sentence, token: Token, index: int) -> None:
    """A noun for people, or "them": those that "all", "each" or "other" before it says."""
    before = _is_counted(sentence, index)
    if before is None:
        return
    if before.value == "other":
        others(sentence, index)
    elif token.value == "them":
        them(sentence)
    else:
        everyone(sentence)


def _is_counted(sentence: Sentence, index: int) -> Token | None:
    """The quantifier before a noun: "all of" before "the agents"."""
    for before in reversed(sentence.tokens[max(0, index - 3) : index]):
        if before.role is Role.EVERY:
            return before
        if before.role not in (Role.SKIP, Role.ABOUT):
            break
    return None


def every(sentence: Sentence, token: Token, index: int) -> None:
    """ "They all", "all three think", "the other thinks"."""
    before, follows = sentence.preceding(index), sentence.following(index)
    believes = follows is not None and follows.role is Role.BELIEVE
    if token.value == "other":
        if believes:
            others(sentence, index)
    elif (before is not None and before.value == "they") or (
        believes and sentence.clause.subject is None
    ):
        them(sentence)


def everyone(sentence: Sentence) -> None:
    """All people of the story; not so "not everyone", and "the location that everyone knew"."""
    clause = sentence.clause
    vague = clause.denied or clause.located
    sentence.set_subject(NOBODY if vague else sentence.memory.everyone)


def others(sentence: Sentence, index: int) -> None:
    """All but those named before; no one in particular, if none was."""
    clause, memory, before = sentence.clause, sentence.memory, sentence.preceding(index)
    named = memory.named | sentence.named
    joined = clause.subject if before is not None and before.role is Role.AND else None
    if joined and clause.verb is None:
        named = named.union(joined)
    else:
        joined = NOBODY
    rest = tuple(name for name in memory.everyone if name not in named) if named else NOBODY
    sentence.set_subject((*joined, *rest))


def nobody(sentence: Sentence, index: int) -> None:
    """ "Nobody thinks": everyone does not; of what nobody did there is nothing to tell."""
    believes = sentence.following(index, _BEFORE_BELIEF)
    if believes is not None and (believes.role in _NEGATED or believes.value == "but"):
        sentence.set_subject(sentence.memory.everyone)
        sentence.clause.denied = True
    else:
        sentence.set_subject(NOBODY)


def them(sentence: Sentence) -> None:
    """ "All of them", "neither of them": those named together last, or everyone."""
    if people := sentence.memory.people:
        sentence.set_subject(people)
    else:
        everyone(sentence)


def except_(sentence: Sentence, token: Token, index: int) -> bool:
    """ "Everyone except Ann"; true if that was read."""
    clause, follows = sentence.clause, sentence.following(index, _BEFORE_EXCEPTED)
    named = follows is not None and follows.role is Role.PERSON
    clause.excepted = named and clause.verb is None and clause.subject is sentence.memory.everyone
    return clause.excepted


def who(sentence: Sentence, token: Token, index: int) -> None:
    """Opens a relative clause about a person."""
    sentence.clause.thing = False
    clause, everyone_ = sentence.clause, sentence.memory.everyone
    if clause.subject is None or (clause.subject is everyone_ and clause.verb is None):
        sentence.clause.subject = NOBODY


def we(sentence: Sentence, token: Token, index: int) -> None:
    """ "We know": nobody of the story, hence a statement about the world. "No one" is a person."""
    if token.value == "one" and sentence.tokens[index - 1].value == "no":
        nobody(sentence, index)
        return
    if sentence.clause.reported:  # "told us"
        return
    sentence.reset()
    sentence.clause.subject, sentence.clause.thing = None, True


def thing(sentence: Sentence, token: Token, index: int) -> None:
    sentence.memory.object = token.value
    _thing(sentence, index)


def it(sentence: Sentence, token: Token, index: int) -> None:
    """A pronoun for an object, or for a place: "still in it"."""
    place = sentence.memory.place
    if place and sentence.clause.preposition is Role.IN and sentence.clause.thing:
        if sentence.is_claim(token):
            sentence.state(place, token)
        return
    _thing(sentence, index)


def _thing(sentence: Sentence, index: int) -> None:
    clause, before = sentence.clause, sentence.preceding(index)
    if clause.verb in (None, Role.BELIEVE, Role.BE) or clause.stated:
        clause.subject, clause.thing = None, True
    clause.with_thing = before is not None and before.role is Role.WITH


def location(sentence: Sentence, token: Token, index: int) -> None:
    """A noun for a place: the place follows a form of "be"."""
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
    sentence.clause.seen = True


def preposition(sentence: Sentence, token: Token, index: int) -> None:
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
    sentence.clause.closed = True


def there(sentence: Sentence, token: Token, index: int) -> None:
    """ "There": the last place, where a clause puts something in it."""
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
    sentence.respective = True
