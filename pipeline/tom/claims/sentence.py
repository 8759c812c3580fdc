"""A sentence that is being read, and what every kind of word may do to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from pipeline.tom.claims.clause import PASSED, Clause, Found, Memory, People
from pipeline.tom.claims.lexicon import Role
from pipeline.tom.claims.tokens import Token


class Sentence:
    """A sentence, as far as it has been read.

    Attributes:
        tokens: Its words.
        memory: What was said before.
        clause: The clause that is being read.
        found: The claims so far.
    """

    def __init__(self, tokens: Sequence[Token], memory: Memory) -> None:
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
        self.silent = False  # the final answer, or the question: no claim
        self.hinted = False  # "there is no sign that": no claim
        self.spoken: Token | None = None  # the place that somebody named
        self.last: Token | None = None  # the last place
        self.found: list[Found] = []

    def following(self, index: int, skip: frozenset[Role] = PASSED) -> Token | None:
        """Return the next of the words that matter."""
        for token in self.tokens[index + 1 : index + 6]:
            if token.role not in skip:
                return token
        return None

    def preceding(self, index: int) -> Token | None:
        """Return the last of the words that matter."""
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
        return self.clause.closed or self.silent or self.hinted

    def is_claim(self, token: Token) -> bool:
        """Return whether something is said to be in a place."""
        clause = self.clause
        if self.mute or clause.seen:
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
        if self.mute or (self.supposed and not clause.believers):
            return
        for holders in product(*clause.believers):
            self.found.append(
                Found(
                    holders,
                    self.memory.object,
                    place,
                    clause.negated,
                    self.former,
                    clause.past,
                    self.final or (clause.known and not self.former),
                    clause.start,
                    token.end,
                )
            )

    def reset(self) -> None:
        """Begin a new clause."""
        self.close_where()
        if self.clause.believers and not self.clause.stated:
            self.untold = self.clause.believers
        self.clause = Clause()
