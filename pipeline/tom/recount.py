"""Recounts: who learned of each place of an object, in order.

``jar: Ann Ben. box: Ben. bag from Cara: Ben trusts. Ann doubts.`` says that Ann and Ben saw the
object in the jar, then Ben alone in the box, and that Cara said it is in the bag, which Ben
believes and Ann does not.

A *walk* states the belief after each line. A *track* is a walk that names everybody in each line,
with ``in`` or the step at which they left: ``one jar: Ann in Ben in. So jar. two Ann two. three
box: Ann two Ben in. Still jar.``
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import Chain, Observation
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import Claim, Event, Story, agents_of


@dataclass(frozen=True, slots=True)
class Seen:
    """The agents who saw the object in a place together: one statement."""

    place: str
    witnesses: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {' '.join(self.witnesses)}."

    @property
    def statements(self) -> tuple[Hashable, ...]:
        return ((self.place, frozenset(self.witnesses)),)

    def reaches(self, chain: Chain) -> bool:
        """The chain believes it; for the empty chain, it is the truth."""
        return set(chain) <= set(self.witnesses)


@dataclass(frozen=True, slots=True)
class Heard:
    """A claim about the object's place; each hearer's trust is one statement."""

    place: str
    speaker: str
    hearers: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        said = " ".join(f"{a} {'trusts' if trusts else 'doubts'}." for a, trusts in self.hearers)
        return f"{self.place} from {self.speaker}: {said}"

    @property
    def statements(self) -> tuple[Hashable, ...]:
        return tuple((self.place, self.speaker, *hearer) for hearer in self.hearers)

    def reaches(self, chain: Chain) -> bool:
        """The chain believes it: the speaker of every hearer, a believer of the speaker too."""
        heard = {agent for agent, _ in self.hearers}
        trusting = {agent for agent, trusts in self.hearers if trusts}
        match chain:
            case (one,):
                return one in trusting
            case (one, other):
                told = one == self.speaker and other in heard
                return told or (one in trusting and other == self.speaker)
        return False


Line = Seen | Heard


IN, OUT = "in", "out"
_ALL = "all"
_WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)


def number(count: int) -> str:
    """The name of a step of a track, from 1: a single word of a tiny vocabulary."""
    return _WORDS[count - 1] if count <= len(_WORDS) else str(count)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a track: where everybody is at a line.

    Attributes:
        since: ``in``, ``out`` (not yet there) or the number of the step at which they left, by
            agent in the order of naming.
        before: Who left or came back since the line before, as text.
    """

    number: str
    since: tuple[tuple[str, str], ...]
    before: str = ""

    def told(self, line: Line) -> str:
        """A line as this step of the track; agents whom it contradicts leave then."""
        if isinstance(line, Seen):
            slots = [f"{agent} {since}" for agent, since in self.after(line).items()]
            return f"{self.before}{self.number} {line.place}: {' '.join(slots)}."
        hearers = dict(line.hearers)
        said = {True: "trusts", False: "doubts", None: "misses"}
        slots = [
            f"{a} {since} {'says' if a == line.speaker else said[hearers.get(a)]}"
            for a, since in self.since
        ]
        told = _ALL if len(hearers) > 1 else " ".join(hearers)
        since = dict(self.since).get(line.speaker, OUT)
        head = f"{line.place} from {line.speaker} {since} to {told}"
        return f"{self.before}{self.number} {head}: {' '.join(slots)}."

    def after(self, line: Line) -> dict[str, str]:
        """Where everybody is once a line is said: those whom it contradicts left, or are there."""
        if not isinstance(line, Seen):
            return dict(self.since)
        return {
            agent: IN if agent in line.witnesses else self.number if since == IN else since
            for agent, since in self.since
        }


@dataclass(frozen=True, slots=True)
class Written:
    """A line as it stands in a text.

    Attributes:
        start: Offset in characters.
        end: Offset of its end.
        believed: In a walk, the belief stated right after the line.
        after: End of that statement, or of the line.
        step: The step of a track; None in other recounts.
    """

    line: Line
    start: int
    end: int
    believed: str | None
    after: int
    step: Step | None = None

    def told(self, line: Line) -> str:
        return str(line) if self.step is None else self.step.told(line)


_AGENT, _PLACE = r"[A-Z][\w'-]*", r"[\w'-]+"
_NUMBER = rf"(?:{'|'.join(_WORDS)}|\d{{1,3}})"
_SINCE = rf"(?:{IN}|{OUT}|{_NUMBER})"
_LINE = re.compile(
    rf"(?:^|(?<=[.>\n]))\s{{0,3}}(?:(?P<said>{_PLACE}) from (?P<speaker>{_AGENT}):"
    rf"(?P<hearers>(?: {_AGENT} (?:trusts|doubts)\.)*)"
    rf"|(?P<place>{_PLACE}):(?P<witnesses>(?: {_AGENT})*) ?\."
    rf"|(?P<before>(?:{_NUMBER} {_AGENT} {_SINCE}\. ){{0,20}})"  # bounded: in linear time
    rf"(?P<number>{_NUMBER}) (?P<where>{_PLACE})"
    rf"(?: from (?P<from>{_AGENT}) {_SINCE} to (?:{_ALL}|{_AGENT}))?:"
    rf"(?P<slots>(?: {_AGENT} {_SINCE}(?: (?:says|trusts|doubts|misses))?)+)\.)"
    rf"(?P<after> (?:So|Still) (?P<believed>{_PLACE})\.)?"
)
_SLOT = re.compile(rf"({_AGENT}) ({_SINCE})(?: (says|trusts|doubts|misses))?")


def read_lines(text: str) -> tuple[Written, ...]:
    """The lines of a recount in a text, each a sentence of its own.

    Only the form is read, in time linear in the text: names need not exist.
    """
    return tuple(
        Written(
            _line(found),
            _start(found),
            _end(found),
            found["believed"],
            found.end(),
            _step(found) if found["where"] else None,
        )
        for found in _LINE.finditer(text)
    )


def _start(found: re.Match[str]) -> int:
    return next(
        found.start(name) for name in ("said", "place", "before") if found[name] is not None
    )


def _end(found: re.Match[str]) -> int:
    return found.start("after") if found["after"] else found.end()


def _step(found: re.Match[str]) -> Step:
    since = tuple((agent, where) for agent, where, _ in _SLOT.findall(found["slots"]))
    return Step(found["number"], since, found["before"])


def _line(found: re.Match[str]) -> Line:
    if found["place"]:
        return Seen(found["place"], tuple(found["witnesses"].split()))
    if found["where"]:
        slots = _SLOT.findall(found["slots"])
        if not found["from"]:
            return Seen(found["where"], tuple(agent for agent, since, _ in slots if since == IN))
        told = [(agent, said) for agent, _, said in slots if said in ("trusts", "doubts")]
        hearers = tuple((agent, said == "trusts") for agent, said in told)
        return Heard(found["where"], found["from"], hearers)
    words = [hearer.split() for hearer in found["hearers"].split(".") if hearer.strip()]
    hearers = tuple((name, said == "trusts") for name, said in words)
    return Heard(found["said"], found["speaker"], hearers)


def recount(question: WhereQuestion, events: Story, beliefs: Beliefs) -> tuple[Line, ...]:
    return tuple(line for _, line in timed(question, events, beliefs))


def timed(question: WhereQuestion, events: Story, beliefs: Beliefs) -> tuple[tuple[int, Line], ...]:
    """The true recount, each line with the index of its event."""
    people = agents_of(events)
    return tuple(
        (observation.moment, _told(observation, events[observation.moment], people))
        for observation in beliefs.observations
        if (observation.object, observation.aspect) == (question.object, question.aspect)
    )


def heeds_claim(question: WhereQuestion, beliefs: Beliefs) -> bool:
    """Whether the chain ever believes what somebody says about the object's place."""
    return any(
        not observation.real and observation.reaches(question.chain)
        for observation in beliefs.observations
        if (observation.object, observation.aspect) == (question.object, question.aspect)
    )


def _told(observation: Observation, event: Event, people: Sequence[str]) -> Line:
    if not isinstance(event, Claim):
        return Seen(str(observation.value), tuple(a for a in people if a in observation.group))
    heard = [agent for agent in people if (event.speaker, agent) in observation.chains]
    hearers = tuple((agent, (agent,) in observation.chains) for agent in heard)
    return Heard(event.container, event.speaker, hearers)


def implied(lines: Sequence[Line], chain: Chain) -> str | None:
    """The place in which a chain believes by a recount, true or not.

    It is the last place that all of them saw together, unless one of them heard otherwise later;
    for the empty chain, the last place that was seen. None where the recount does not tell.
    """
    return next((line.place for line in reversed(lines) if line.reaches(chain)), None)


UNKNOWN = "unknown"
"""A walk's word before there is any belief."""


def written(lines: Sequence[Line], walk: Chain | None = None) -> str:
    """A recount as text; as a walk, with the belief of the chain ``walk`` after each line:

    ``jar: Ann Ben. So jar. box: Ben. Still jar.``
    """
    if walk is None:
        return " ".join(map(str, lines))
    slots = said_between(lines, walk)
    return " ".join(f"{line} {slot}" for line, slot in zip(lines, slots, strict=True))


def said_between(lines: Sequence[Line], chain: Chain) -> Iterator[str]:
    """Yield the sentence of a walk after each line: the chain's belief by then."""
    believed = UNKNOWN
    for line in lines:
        reached = line.reaches(chain)
        believed = line.place if reached else believed
        yield f"{'So' if reached else 'Still'} {believed}."


def truth(lines: Sequence[Line], told: Sequence[Line]) -> tuple[int, ...]:
    """The number of true statements in each line, against the true recount ``told``."""
    return tuple(
        0 if line is None else _agreeing(said, line)
        for said, line in zip(lines, aligned(lines, told), strict=True)
    )


def omitted(lines: Sequence[Line], told: Sequence[Line]) -> int:
    """The number of true statements that a recount leaves out."""
    beside = zip(lines, aligned(lines, told), strict=True)
    made = sum(
        min(len(said.statements), len(line.statements)) for said, line in beside if line is not None
    )
    return sum(len(line.statements) for line in told) - made


def believed_along(
    lines: Sequence[Line], told: Sequence[Line], chain: Chain
) -> tuple[str | None, ...]:
    """The chain's true belief after each line of a recount.

    A line stands at the moment of its true line, a superfluous one at that of the line before it.
    """
    believed, moment = list[str | None](), 0
    for place in _placed(lines, told):
        moment = moment if place is None else place + 1
        believed.append(implied(told[:moment], chain))
    return tuple(believed)


def aligned(lines: Sequence[Line], told: Sequence[Line]) -> tuple[Line | None, ...]:
    """The true line aligned with each line of a recount; None for superfluous ones.

    The alignment keeps order and maximises agreeing statements, then agreement in kind and place.
    """
    return tuple(None if place is None else told[place] for place in _placed(lines, told))


def _placed(lines: Sequence[Line], told: Sequence[Line]) -> tuple[int | None, ...]:
    """Like ``aligned``, as indices."""
    rows, columns = len(lines), len(told)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            both = best[row + 1][column + 1] + _likeness(lines[row], told[column])
            best[row][column] = max(both, best[row + 1][column], best[row][column + 1])
    found = list[int | None]()
    row = column = 0
    while row < rows:
        likeness = _likeness(lines[row], told[column]) if column < columns else 0
        if likeness and best[row][column] == best[row + 1][column + 1] + likeness:
            found.append(column)
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            found.append(None)
            row += 1
        else:
            column += 1
    return tuple(found)


_AGREES = 1_000_000
"""Weight of an agreeing statement: more than the likeness of all lines that do not agree."""


def _likeness(said: Line, line: Line) -> int:
    alike = (type(said) is type(line)) * (1 + (said.place == line.place))
    return _AGREES * _agreeing(said, line) + alike


def _agreeing(said: Line, line: Line) -> int:
    return len(set(said.statements) & set(line.statements))
