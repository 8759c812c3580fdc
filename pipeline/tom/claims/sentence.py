"""A sentence that is being read: its clause so far, what was said before, and what words may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from pipeline.tom.claims.tokens import Token
from pipeline.tom.claims.words import Role
from pipeline.tom.observation import Chain

People = tuple[str, ...]
NOBODY: People = ()
"""Believers of whom none is named, such as "the others": what they believe is no claim."""

EVENTS = frozenset({Role.MOVE, Role.GO, Role.PERCEIVE, Role.SPEAK})
SUBJECTS = frozenset({Role.PERSON, Role.HE, Role.THEY, Role.ALL})
PASSED = frozenset({Role.SKIP, Role.FINAL, Role.TRUE, Role.HEDGE})
BELIEVING = frozenset({Role.BELIEVE, Role.UNAWARE})
PLACES = frozenset({Role.CONTAINER, Role.ROOM})


@dataclass(slots=True)
class ClauseMemory:
    """What the sentences before leave to the next: whom and what its pronouns mean.

    Attributes:
        object: "It".
        asked: The object asked about.
        everyone: All people of the story.
        person: "He", "she".
        people: "They".
        place: "There".
        history: Whether a list of what happened is being read: "Initially: red_box".
        named: Whom "the others" leave out.
        recent: The place, if this sentence or the one before names it; else nothing.
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
    """A claim as its sentence makes it; whether it is about the end is not settled yet.

    Attributes:
        holders: The believers, outermost first; none for the world.
        object: What is said to be there.
        place: Where.
        negated: Whether it is said not to be so.
        former: Whether the sentence speaks of a former moment.
        past: Whether it is in the past.
        final: Whether it speaks of the end.
        start: Where it begins in the text.
        end: Where it ends.
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
    """What has been read of a clause.

    Attributes:
        believers: Who believes that who believes; several people believe the same.
        fixed: Whether a heading names them, so that an event after it is no belief of theirs.
        noun: Whether a noun does, as in "Ann's belief".
        interrupted: Whether a comma stands after them.
        verb: What the last verb does.
        subject: People before the verb to come.
        thing: Whether an object, or a pronoun for one, stands there instead.
        owner: Whose belief or location follows, as in "Ann's".
        having: Who has a belief, as in "Ann has no knowledge of".
        located: Whether it is about a location, so that a place may follow "is".
        known: Whether that is a location of a belief.
        seen: Whether it is one of an event.
        denied: Whether a negation waits for its verb.
        negated: Whether what it says is negated.
        untrue: Whether it is said to be false: "it is not true that".
        reported: Whether it is what somebody said.
        excepted: Whether the people to come are left out: "everyone except".
        preposition: What stands before the next word.
        with_thing: Whether it begins "with the lime".
        place_before: The place of "the box, where Ann thinks it is".
        stated: Whether its place has come.
        closed: Whether it can make no claim: it is a question, or an aside.
        past: Whether it is in the past.
        stays: Whether something stays rather than is.
        aside: Whether it tells when or why something else happens.
        start: Where it begins in the text; -1 before its first word.
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
    """A sentence, as far as it has been read.

    Attributes:
        tokens: Its words.
        memory: What was said before.
        clause: The clause that is being read.
        found: The claims so far.
    """

    def __init__(self, tokens: Sequence[Token], memory: ClauseMemory) -> None:
        """Begin; ``memory`` is changed by reading."""
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
        """The next of the words that matter."""
        for token in self.tokens[index + 1 : index + 6]:
            if token.role not in skip:
                return token
        return None

    def preceding(self, index: int) -> Token | None:
        """The last of the words that matter."""
        for token in reversed(self.tokens[max(0, index - 5) : index]):
            if token.role not in PASSED:
                return token
        return None

    def set_subject(self, people: People) -> None:
        """Take people as the subject of the verb to come."""
        clause = self.clause
        clause.subject, clause.thing = people, False

    def add_believer(self, people: People, heading: bool = False, noun: bool = False) -> None:
        """Add believers: inside the belief of those before, where none has been told yet.

        Args:
            people: One believer, or several who believe the same.
            heading: Whether a heading names them: "from Ann's perspective".
            noun: Whether a noun does, so that no pronoun will mean them: "Ann's belief".
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
        """Remember whom the pronouns to come mean: no one inside a belief or an aside."""
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
        """Let a negation that waits for its verb have it."""
        clause = self.clause
        if clause.denied:
            clause.negated, clause.denied = True, False

    def suppose(self, trails: bool = False, real: bool = False) -> None:
        """Begin a condition.

        Args:
            trails: Whether the last claim is made on it: "she would think so if".
            real: Whether what is said holds all the same: "even if".
        """
        self.conditional = self.found[-1].start if trails and self.found else -1
        self.reset()
        self.hypothesis, self.real = True, real

    def retract(self, start: int) -> None:
        """Take back the claims that begin at one place."""
        self.found = [each for each in self.found if each.start != start]

    def doubt(self) -> None:
        """Take the condition, if there is one, as contrary to fact."""
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
        """Whether nothing said here is a claim."""
        unsaid = self.clause.closed or self.silent or self.hinted
        return unsaid or self.hypothesis or self.unreal

    def is_claim(self, token: Token) -> bool:
        """Whether something is said to be in a place."""
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
        """Write down a claim, one for each of several believers."""
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
        """End the sentence."""
        self.close_where()
        if self.respective:
            self._pair()
        if not self.item:
            self.memory.history = False
        told = any(each.holders for each in self.found)
        if told or self.named:
            self.memory.named = self.named | self.memory.named if told else self.named

    def _pair(self) -> None:
        """Give each of several believers the place that stands where their name does."""
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
        """Begin a new clause."""
        self.close_where()
        if self.clause.believers and not self.clause.stated:
            self.untold = self.clause.believers
        self.clause = Clause()
