"""The belief claims of a response, the moment that each is about, and its truth.

A sentence is read as clauses, in a single pass over its words. In each, believers are collected
from left to right ("Ann thinks Ben would think"), an event or a form of "be" is remembered, and
when a place comes, the words before it decide between where something *is* and where it only went
or was seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from pipeline.tom.belief import Beliefs
from pipeline.tom.claims import beliefs, clauses, nouns
from pipeline.tom.claims.sentence import ClauseMemory, FoundClaim, Sentence
from pipeline.tom.claims.tokens import Token, is_copied, sentences
from pipeline.tom.claims.words import ROLES, Role, Vocabulary
from pipeline.tom.language import Language
from pipeline.tom.observation import CONTAINER, ROOM, Chain
from pipeline.tom.rules import Rules
from pipeline.tom.solve import read
from pipeline.tom.story import Enter, Exit, Place, Present, Story, agents_of


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
        Role.PERSON: nouns.person,
        Role.HE: nouns.he,
        Role.THEY: nouns.they,
        Role.HIS: nouns.his,
        Role.THEIR: nouns.their,
        Role.ALL: nouns.somebody,
        Role.EVERY: nouns.every,
        Role.AGENT: nouns.agent,
        Role.EXCEPT: nouns.except_,
        Role.WHO: nouns.who,
        Role.WHAT: nouns.what,
        Role.HAVE: beliefs.have,
        Role.WE: nouns.we,
        Role.OBJECT: nouns.thing,
        Role.IT: nouns.it,
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
        Role.NOT: beliefs.negate,
        Role.LOCATION: nouns.location,
        Role.KNOWN: beliefs.known,
        Role.SEEN: nouns.seen,
        Role.IN: nouns.preposition,
        Role.TO: nouns.preposition,
        Role.AWAY: nouns.preposition,
        Role.WHERE: nouns.where,
        Role.THERE: nouns.there,
        Role.THIS: beliefs.this,
        Role.HINT: beliefs.hint,
        Role.HEDGE: beliefs.hedge,
        Role.CONTAINER: nouns.place,
        Role.ROOM: nouns.place,
        Role.INVENTED: nouns.invented,
        Role.COMMA: clauses.comma,
        Role.COLON: clauses.colon,
        Role.AND: clauses.and_,
        Role.OR: clauses.or_,
        Role.BREAK: clauses.break_,
        Role.WHEN: clauses.when,
        Role.IF: beliefs.if_,
        Role.FORMER: clauses.former_,
        Role.MOMENT: clauses.moment,
        Role.FINAL: clauses.final_,
        Role.NOW: clauses.now_,
        Role.ABOUT: nouns.preposition,
        Role.TRUE: beliefs.true,
        Role.WHETHER: beliefs.whether,
        Role.ASKED: beliefs.ask,
        Role.RESPECTIVELY: nouns.respectively,
        Role.FALSE: beliefs.false,
        Role.ANSWER: clauses.silence,
        Role.QUESTION: clauses.silence,
        Role.THAT: beliefs.that,
    }
)
"""The handler of each role of words."""

_KEEP_PREPOSITION = frozenset(
    {Role.SKIP, Role.HEDGE, Role.THIS, Role.FINAL, Role.IN, Role.TO, Role.AWAY, Role.ABOUT}
)


END, EARLIER = "end", "earlier"
# The final answer is no claim, and neither is a sentence copied from the story; a tag is no verb.
_ANSWER = re.compile(
    r"<answer>[^<]{0,2000}|\"answer\"\s*:[^\n}]{0,2000}|\"thinking\"\s*:|</?think>", re.IGNORECASE
)
LONGEST_RESPONSE = 20_000
"""Limit in characters, about twice the longest response of Study 1."""


@dataclass(frozen=True, slots=True)
class BeliefClaim:
    """A statement about the place of something, real or believed.

    Attributes:
        holders: The believers, outermost first; empty for the world.
        negated: The claim denies the place, or that the holders know it.
        when: ``end`` for the end of the story, ``earlier`` for a former moment.
        start: Offset in the response, in characters.
        end: Offset of its end.
    """

    holders: Chain
    object: str
    place: str
    negated: bool
    when: str
    start: int
    end: int


def read_claims(text: str, vocabulary: Vocabulary, thing: str = "") -> list[BeliefClaim]:
    """The claims that a response makes, each once, in order; linear in its length.

    Args:
        text: The response; its first ``LONGEST_RESPONSE`` characters are read.
        vocabulary: Names of its story.
        thing: The object asked about: "it", until another is named.
    """
    text = _ANSWER.sub(lambda match: "\n".ljust(len(match.group())), text[:LONGEST_RESPONSE])
    memory, found = ClauseMemory(thing, thing, vocabulary.everyone), list[FoundClaim]()
    for tokens, words in sentences(text, vocabulary):
        claims = read_sentence(tokens, memory)
        if claims and not is_copied(words, vocabulary):
            found += claims
    return list(_distinct(found))


def _distinct(found: list[FoundClaim]) -> Iterator[BeliefClaim]:
    seen = set[tuple[object, ...]]()
    last = {(each.holders, each.object): each.place for each in found if not each.negated}
    for each in found:
        when = _when(each, last)
        key = (each.holders, each.object, each.place, each.negated, when)
        if key not in seen:
            seen.add(key)
            yield BeliefClaim(
                each.holders, each.object, each.place, each.negated, when, each.start, each.end
            )


def _when(found: FoundClaim, last: dict[tuple[Chain, str], str]) -> str:
    if found.final:
        return END
    changes = last.get((found.holders, found.object), found.place) != found.place
    if found.holders:
        return EARLIER if found.former and changes else END
    return EARLIER if found.former or found.past or changes else END


@dataclass(frozen=True)
class ReadStory:
    """Names and beliefs of a story, with the room where the narrator put each object."""

    beliefs: Beliefs
    vocabulary: Vocabulary
    rooms: Mapping[str, str]

    def claims(self, response: str, thing: str) -> list[BeliefClaim]:
        return read_claims(response, self.vocabulary, thing)

    def with_places(self, places: Iterable[str]) -> ReadStory:
        """The story with further places to read, such as a question's options; they stay empty."""
        names = self.vocabulary
        known = names.people | names.objects | names.rooms | names.containers
        added = {name for name in places if name not in known and name.lower() not in ROLES}
        if not added:
            return self
        return replace(self, vocabulary=replace(names, options=frozenset(added)))

    def holds(self, claim: BeliefClaim) -> bool:
        """The claim is true at the end or, if it is about the past, at some moment.

        Somebody who cannot know of an object believes nothing about it.
        """
        return (claim.place in self._believed(claim)) is not claim.negated

    def _believed(self, claim: BeliefClaim) -> frozenset[str | None]:
        aspect = CONTAINER if claim.place in self.vocabulary.containers else ROOM
        history = [o.value for o in self.beliefs.history(claim.holders, claim.object, aspect)]
        if not history and aspect == ROOM:
            history = [self.rooms.get(claim.object)]
        return frozenset(history[-1:] if claim.when == END else history)


@lru_cache(maxsize=4096)  # the completions of a prompt follow each other, epoch after epoch
def read_story(language: Language, story: str, rules: Rules, thing: str = "") -> ReadStory:
    """Parse and replay a story; "it" is ``thing``, the object asked about.

    Raises:
        ParseError: At the first sentence that is not in the language.
        KeyError: If an agent moves something before having entered any room.
    """
    parsed, known = read(language, story, rules, thing)
    return ReadStory(
        beliefs=known,
        vocabulary=_vocabulary(parsed.events, known, story, thing),
        rooms={e.object: e.room for e in parsed.events if isinstance(e, Place)},
    )


def _vocabulary(events: Story, known: Beliefs, story: str, thing: str) -> Vocabulary:
    """The names of a story; the thing asked about is an object even if it contains others."""
    seen = [o for o in known.observations if o.aspect in (CONTAINER, ROOM)]
    containers = {o.value for o in seen if o.aspect == CONTAINER and o.value}
    entered = {e.room for e in events if isinstance(e, Enter | Exit | Place | Present)}
    return Vocabulary(
        people=frozenset(agents_of(events)),
        objects=frozenset(o.object for o in seen) - (containers - {thing}),
        containers=frozenset(containers),
        rooms=frozenset(entered | {o.value for o in seen if o.aspect == ROOM and o.value}),
        story=story,
    )
