"""The claims of one sentence: a single pass over its words, with what was said before at hand.

A sentence is read as clauses. In each, believers are collected from left to right ("Ann thinks Ben
would think"), an event or a form of "be" is remembered, and when a place comes, what stands before
it decides whether it is where something *is*, or only where something went or was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pipeline.tom.claims import beliefs, clauses, doubt, people, places
from pipeline.tom.claims.clause import ClauseMemory, FoundClaim
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.sentence import Sentence
from pipeline.tom.claims.tokens import Token


def read_sentence(tokens: Sequence[Token], memory: ClauseMemory) -> list[FoundClaim]:
    """The claims of a sentence, in order; ``memory`` is changed by reading."""
    sentence = Sentence(tokens, memory)
    for index, token in enumerate(tokens):
        if sentence.clause.start < 0 and token.role is not Role.SKIP:
            sentence.clause.start = token.start
        if (handle := HANDLERS.get(token.role)) is not None:
            handle(sentence, token, index)
        if token.role not in _KEEP_PREPOSITION:
            sentence.clause.preposition = None
    sentence.finish()
    memory.recent = memory.place if sentence.last is not None else ""
    return sentence.found


HANDLERS: Mapping[Role, Callable[[Sentence, Token, int], object]] = MappingProxyType(
    {
        Role.PERSON: people.person,
        Role.HE: people.he,
        Role.THEY: people.they,
        Role.HIS: people.his,
        Role.THEIR: people.their,
        Role.ALL: people.somebody,
        Role.EVERY: people.every,
        Role.AGENT: people.agent,
        Role.EXCEPT: people.except_,
        Role.WHO: people.who,
        Role.WHAT: places.what,
        Role.HAVE: doubt.have,
        Role.WE: people.we,
        Role.OBJECT: people.thing,
        Role.IT: people.it,
        Role.BELIEVE: beliefs.believe,
        Role.LOOK: beliefs.look,
        Role.UNAWARE: beliefs.unaware,
        Role.BELIEF: beliefs.belief,
        Role.VIEW: beliefs.view,
        Role.PERCEIVE: beliefs.event,
        Role.SPEAK: beliefs.event,
        Role.MOVE: beliefs.event,
        Role.GO: beliefs.event,
        Role.BE: beliefs.be,
        Role.WAS: beliefs.be,
        Role.NOT: doubt.negate,
        Role.LOCATION: places.location,
        Role.KNOWN: beliefs.known,
        Role.SEEN: places.seen,
        Role.IN: places.preposition,
        Role.TO: places.preposition,
        Role.AWAY: places.preposition,
        Role.WHERE: places.where,
        Role.THERE: places.there,
        Role.THIS: beliefs.this,
        Role.HINT: doubt.hint,
        Role.HEDGE: doubt.hedge,
        Role.CONTAINER: places.place,
        Role.ROOM: places.place,
        Role.INVENTED: places.invented,
        Role.COMMA: clauses.comma,
        Role.COLON: clauses.colon,
        Role.AND: clauses.and_,
        Role.OR: clauses.or_,
        Role.BREAK: clauses.break_,
        Role.WHEN: clauses.when,
        Role.IF: doubt.if_,
        Role.FORMER: clauses.former_,
        Role.MOMENT: clauses.moment,
        Role.FINAL: clauses.final_,
        Role.NOW: clauses.now_,
        Role.ABOUT: places.preposition,
        Role.TRUE: doubt.true,
        Role.WHETHER: doubt.whether,
        Role.ASKED: doubt.ask,
        Role.RESPECTIVELY: places.respectively,
        Role.FALSE: doubt.false,
        Role.ANSWER: clauses.silence,
        Role.QUESTION: clauses.silence,
        Role.THAT: doubt.that,
    }
)
"""What each kind of word does."""

_KEEP_PREPOSITION = frozenset(
    {Role.SKIP, Role.HEDGE, Role.THIS, Role.FINAL, Role.IN, Role.TO, Role.AWAY, Role.ABOUT}
)
