"""The state of reading a sentence: its clause so far, and the memory of those before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from pipeline.tom.claims.tokens import Token
from pipeline.tom.claims.words import Role
from pipeline.tom.observation import Chain

People = tuple[str, ...]
NOBODY: People = ()
"""Unnamed believers, such as "the others": their beliefs are no claims."""

EVENTS = frozenset({Role.MOVE, Role.GO, Role.PERCEIVE, Role.SPEAK})
SUBJECTS = frozenset({Role.PERSON, Role.HE, Role.THEY, Role.ALL})
PASSED = frozenset({Role.SKIP, Role.FINAL, Role.TRUE, Role.HEDGE})
BELIEVING = frozenset({Role.BELIEVE, Role.UNAWARE})
PLACES = frozenset({Role.CONTAINER, Role.ROOM})


@dataclass(slots=True)
class ClauseMemory:
    """Referents that the sentences before leave to the next.

    Attributes:
        object: "It".
        asked: The object asked about.
        everyone: All people of the story.
        person: "He", "she".
        people: "They".
        place: "There".
        history: A list of events is being read: "Initially: red_box".
        named: The people excluded by "the others".
        recent: The place, if this sentence or the one before names it; else empty.
    """

    object: str
    asked: str = ""
    everyone: People = NOBODY
    person: People = NOBODY
    people: People = NOBODY
    place: str = ""
    history: bool = False
    named: frozenset[str] = frozenset()
    recent: str = ""


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A claim as its sentence makes it; not yet settled as one about the end.

    Attributes:
        holders: The believers, outermost first; empty for the world.
        negated: The claim denies the place.
        former: The sentence speaks of a former moment.
        past: Past tense.
        final: The sentence speaks of the end.
        start: Offset in the text.
        end: Offset of its end.
    """

    holders: Chain
    object: str
    place: str
    negated: bool
    former: bool
    past: bool
    final: bool
    start: int
    end: int


@dataclass(slots=True)
class Clause:
    """The clause as read so far.

    Attributes:
        believers: The nested believers; several people in one place believe the same.
        fixed: A heading names them, so that an event after it is no belief of theirs.
        noun: A noun names them, as in "Ann's belief".
        interrupted: A comma follows them.
        verb: Role of the last verb.
        subject: People before the verb to come.
        thing: An object, or a pronoun for one, is the subject instead.
        owner: The possessor, as in "Ann's" belief or location.
        having: The owner of a belief, as in "Ann has no knowledge of".
        located: The clause is about a location, so that a place may follow "is".
        known: That location is one of a belief.
        seen: That location is one of an event.
        denied: A negation waits for its verb.
        negated: The content is negated.
        untrue: The clause is called false: "it is not true that".
        reported: Reported speech.
        excepted: The people to come are left out: "everyone except".
        preposition: The preposition before the next word.
        with_thing: The clause begins "with the lime".
        place_before: The place of "the box, where Ann thinks it is".
        stated: Its place has come.
        closed: It can make no claim, being a question or an aside.
        past: Past tense.
        stays: Something stays rather than is.
        aside: The clause gives the time or reason of another.
        start: Offset in the text; -1 before its first word.
    """

    believers: list[People] = field(default_factory=list)
    fixed: bool = False
    noun: bool = False
    interrupted: bool = False
    verb: Role | None = None
    subject: People | None = None
    thing: bool = False
    owner: People | None = None
    having: People | None = None
    located: bool = False
    known: bool = False
    seen: bool = False
    denied: bool = False
    negated: bool = False
    untrue: bool = False
    reported: bool = False
    excepted: bool = False
    preposition: Role | None = None
    with_thing: bool = False
    place_before: str = ""
    stated: bool = False
    closed: bool = False
    past: bool = False
    stays: bool = False
    aside: bool = False
    start: int = -1


_SAID_PLACES = PLACES | {Role.INVENTED}


class Sentence:
    """A sentence that is being read; reading changes ``memory``."""

    def __init__(self, tokens: Sequence[Token], memory: ClauseMemory) -> None:
        self.tokens = tokens
        self.memory = memory
        self.clause = Clause()
        self.untold: list[People] = []  # believers of whom no belief is told yet
        # Believers, and one to come, that wait for the end of an aside.
        self.outer: tuple[list[People], People | None] | None = None
        self.main: People | None = None  # the subject of the sentence
        self.former = False  # it speaks of a former moment
        self.final = False  # of the end
        self.supposed = False  # after "if": no claim about the world
        self.hypothesis = False  # between "if" and its comma: no claim
        self.unreal = False  # what would follow from what never was, or may be so: no claim
        self.real = True  # a condition that changes nothing: "even if"
        self.conditional = -1  # where the claims that a condition is told of begin
        self.respective = False  # believers and places are told in the same order
        self.item = False  # of a list with a name and a place
        self.named = frozenset[str]()  # people that it is about
        self.silent = False  # the final answer, or the question: no claim
        self.hinted = False  # "there is no sign that": no claim
        self.spoken: Token | None = None  # the place that somebody named
        self.last: Token | None = None  # the last place
        self.found: list[FoundClaim] = []

    def following(self, index: int, skip: frozenset[Role] = PASSED) -> Token | None:
        """The next token whose role is not skipped."""
        for token in self.tokens[index + 1 : index + 6]:
            if token.role not in skip:
                return token
        return None

    def preceding(self, index: int) -> Token | None:
        """The last token before whose role is not skipped."""
        for token in reversed(self.tokens[max(0, index - 5) : index]):
            if token.role not in PASSED:
                return token
        return None

    def set_subject(self, people: People) -> None:
        clause = self.clause
        clause.subject, clause.thing = people, False

    def add_believer(self, people: People, heading: bool = False, noun: bool = False) -> None:
        """Nest believers inside those before, as long as no event has been told.

        Args:
            people: One believer, or several who believe the same.
            heading: A heading names them: "from Ann's perspective".
            noun: A noun names them ("Ann's belief"), so that no pronoun will mean them.
        """
        clause = self.clause
        open_ = clause.verb is Role.BELIEVE or clause.fixed
        if clause.stated or not open_ or clause.interrupted:
            clause.believers, clause.negated, clause.interrupted = [], False, False
        if not (clause.believers and clause.believers[-1] == people):
            clause.believers.append(people)
        clause.fixed, clause.verb = heading, Role.BELIEVE
        clause.stated = False
        if not noun:
            self.remember(people)
        clause.subject, clause.thing, clause.owner = None, False, None

    def remember(self, people: People) -> None:
        """Update the referents of pronouns; people inside a belief or an aside do not count."""
        aside = self.clause.aside and self.main is not None
        if people is not self.memory.everyone:
            self.named = self.named.union(people)
        if self.main is None:
            self.main = people
        if aside or len(self.clause.believers) > 1:
            return
        if len(people) == 1:
            self.memory.person = people
        elif people:
            self.memory.people = people

    def settle_negation(self) -> None:
        """Attach a waiting negation to its verb."""
        clause = self.clause
        if clause.denied:
            clause.negated, clause.denied = True, False

    def suppose(self, trails: bool = False, real: bool = False) -> None:
        """Begin a condition.

        Args:
            trails: The last claim depends on it: "she would think so if".
            real: The claims hold all the same: "even if".
        """
        self.conditional = self.found[-1].start if trails and self.found else -1
        self.reset()
        self.hypothesis, self.real = True, real

    def retract(self, start: int) -> None:
        """Drop the claims that begin at this offset."""
        self.found = [each for each in self.found if each.start != start]

    def doubt(self) -> None:
        """Take the condition, if any, as contrary to fact."""
        if self.hypothesis and not self.real:
            self.retract(self.conditional)
            self.unreal = True

    def close_where(self) -> None:
        """Settle "the box, where Ann thinks it is" at the end of the clause."""
        clause = self.clause
        believed = clause.verb in (Role.BE, Role.BELIEVE) and bool(clause.believers)
        remains = clause.verb is Role.BE and clause.thing
        if clause.place_before and self.last and (believed or remains):
            self.state(clause.place_before, self.last)
        clause.place_before = ""

    @property
    def mute(self) -> bool:
        """Nothing here counts as a claim."""
        unsaid = self.clause.closed or self.silent or self.hinted
        return unsaid or self.hypothesis or self.unreal

    def is_claim(self, token: Token) -> bool:
        """The token is a place in which the clause puts something."""
        clause = self.clause
        if clause.seen:
            return False
        people = clause.subject is not None
        match clause.preposition, clause.verb:
            case Role.IN, Role.BE:
                said = not people and (clause.thing or clause.located or bool(clause.believers))
            case Role.IN, Role.BELIEVE:
                said = not people
            case Role.IN | Role.TO, Role.MOVE:
                said = bool(clause.believers) and not clause.fixed
            case Role.IN, Role.PERCEIVE:
                said = len(clause.believers) > 1 and not clause.fixed
            case Role.IN, None:
                said = clause.with_thing
            case None, Role.BE | Role.BELIEVE | None:
                said = clause.located
            case Role.ABOUT, Role.BELIEVE:
                said = clause.negated
            case _:
                said = False
        if token.role is Role.ROOM:
            is_ = clause.thing and clause.verb is Role.BE and not clause.stays
            return said and is_ and not clause.stated
        return said

    def state(self, place: str, token: Token) -> None:
        """Record a claim, one for each of several believers."""
        clause = self.clause
        if clause.believers:  # "if Ann thinks that it is in the box, Ben would": who knows
            self.doubt()
        if self.mute or (self.supposed and not clause.believers):
            return
        for holders in product(*clause.believers):
            if any(a == b for a, b in pairwise(holders)):  # "Ann thinks everyone thinks"
                continue
            self.found.append(
                FoundClaim(
                    holders,
                    self.memory.object,
                    place,
                    clause.negated is not clause.untrue,
                    self.former,
                    clause.past,
                    self.final or (clause.known and not self.former),
                    clause.start,
                    token.end,
                )
            )

    def finish(self) -> None:
        self.close_where()
        if self.respective:
            self._pair()
        if not self.item:
            self.memory.history = False
        told = any(each.holders for each in self.found)
        if told or self.named:
            self.memory.named = self.named | self.memory.named if told else self.named

    def _pair(self) -> None:
        """Pair several believers with places in the order of mention."""
        first = next((each for each in self.found if each.holders), None)
        if first is None:
            return
        group = [each for each in self.found if each.start == first.start]
        places = [t for t in self.tokens if t.role in _SAID_PLACES and t.end >= first.end]
        self.retract(first.start)
        if len(group) == len(places):
            self.found += [
                replace(each, place=token.value, end=token.end)
                for each, token in zip(group, places, strict=True)
            ]

    def reset(self) -> None:
        self.close_where()
        if self.clause.believers and not self.clause.stated:
            self.untold = self.clause.believers
        self.clause = Clause()
