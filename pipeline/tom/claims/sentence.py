"""A sentence that is being read, and what every kind of word may do to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from pipeline.tom.claims.clause import PASSED, PLACES, Clause, ClauseMemory, FoundClaim, People
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.tokens import Token

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
