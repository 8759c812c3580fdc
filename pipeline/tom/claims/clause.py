"""What is known while a sentence is read: its clause so far, and what was said before."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.tom.claims.lexicon import Role
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
