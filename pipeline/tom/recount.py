"""Recounts: who learned of each place of an object, in order. Made, read back, and reasoned from.

``jar: Ann Ben. box: Ben. bag from Cara: Ben trusts. Ann doubts.`` says that Ann and Ben saw the
object in the jar, then Ben alone in the box, and that Cara said it is in the bag, which Ben
believes and Ann does not.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import Chain, Observation
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import Claim, Event, Story, agents_of


@dataclass(frozen=True, slots=True)
class Seen:
    """The object was seen in a place by these agents together: one statement."""

    place: str
    witnesses: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {' '.join(self.witnesses)}."

    @property
    def statements(self) -> tuple[Hashable, ...]:
        """What is stated: the place and who was there, in whatever order."""
        return ((self.place, frozenset(self.witnesses)),)

    def reaches(self, chain: Chain) -> bool:
        """Whether it sets the belief of a chain; of the empty one, it is the truth."""
        return set(chain) <= set(self.witnesses)


@dataclass(frozen=True, slots=True)
class Heard:
    """Somebody said where the object is; whether each hearer trusts them is one statement."""

    place: str
    speaker: str
    hearers: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        said = " ".join(f"{a} {'trusts' if trusts else 'doubts'}." for a, trusts in self.hearers)
        return f"{self.place} from {self.speaker}: {said}"

    @property
    def statements(self) -> tuple[Hashable, ...]:
        """What is stated of each hearer."""
        return tuple((self.place, self.speaker, *hearer) for hearer in self.hearers)

    def reaches(self, chain: Chain) -> bool:
        """Whether it sets the belief of a chain.

        The speaker thinks that every hearer believes it. Who does thinks so of the speaker too.
        """
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


@dataclass(frozen=True, slots=True)
class Written:
    """A line as it stands in a text.

    Attributes:
        line: What it says.
        start: Where it begins, in characters.
        end: Where it ends.
        believed: In a walk, the place that is said to be believed by then, right after the line.
        after: Where that ends; the end of the line where nothing of the kind is said.
    """

    line: Line
    start: int
    end: int
    believed: str | None
    after: int


_AGENT, _PLACE = r"[A-Z][\w'-]*", r"[\w'-]+"
_LINE = re.compile(
    rf"(?:^|(?<=[.>\n]))\s{{0,3}}(?:(?P<said>{_PLACE}) from (?P<speaker>{_AGENT}):"
    rf"(?P<hearers>(?: {_AGENT} (?:trusts|doubts)\.)*)"
    rf"|(?P<place>{_PLACE}):(?P<witnesses>(?: {_AGENT})*) ?\.)"
    rf"(?P<after> (?:So|Still) (?P<believed>{_PLACE})\.)?"
)


def read_lines(text: str) -> tuple[Written, ...]:
    """The lines of a recount that stand in a text, each as a sentence of its own.

    Only the form is read, in time linear in the text: who and what is named need not exist.
    """
    return tuple(
        Written(_line(found), _start(found), _end(found), found["believed"], found.end())
        for found in _LINE.finditer(text)
    )


def _start(found: re.Match[str]) -> int:
    return found.start("said") if found["said"] else found.start("place")


def _end(found: re.Match[str]) -> int:
    return found.start("after") if found["after"] else found.end()


def _line(found: re.Match[str]) -> Line:
    if found["place"]:
        return Seen(found["place"], tuple(found["witnesses"].split()))
    words = [hearer.split() for hearer in found["hearers"].split(".") if hearer.strip()]
    hearers = tuple((name, said == "trusts") for name, said in words)
    return Heard(found["said"], found["speaker"], hearers)


def recount(question: WhereQuestion, events: Story, beliefs: Beliefs) -> tuple[Line, ...]:
    """The true recount of the object that a question asks for."""
    people = agents_of(events)
    return tuple(
        _told(observation, events[observation.moment], people)
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
    """The place in which a chain believes by a recount, be that true or not.

    It is the last place that all of them saw together, unless one of them heard otherwise later;
    for the empty chain, the last place that was seen. None where the recount does not tell.
    """
    return next((line.place for line in reversed(lines) if line.reaches(chain)), None)


UNKNOWN = "unknown"
"""What a walk says where nothing is believed yet."""


def written(lines: Sequence[Line], walk: Chain | None = None) -> str:
    """A recount as a text.

    Args:
        lines: The recount.
        walk: A chain of believers. After each line stands what they believe by then, new or as
            before: ``jar: Ann Ben. So jar. box: Ben. Still jar.``
    """
    if walk is None:
        return " ".join(map(str, lines))
    texts, believed = list[str](), UNKNOWN
    for line in lines:
        reached = line.reaches(walk)
        believed = line.place if reached else believed
        texts.append(f"{line} {'So' if reached else 'Still'} {believed}.")
    return " ".join(texts)


def truth(lines: Sequence[Line], told: Sequence[Line]) -> tuple[int, ...]:
    """How many statements of each line are true.

    Args:
        lines: What a recount says.
        told: What it should say.
    """
    return tuple(
        0 if line is None else _agreeing(said, line)
        for said, line in zip(lines, aligned(lines, told), strict=True)
    )


def omitted(lines: Sequence[Line], told: Sequence[Line]) -> int:
    """How many statements of the true lines a recount leaves out, with a line or within one."""
    beside = zip(lines, aligned(lines, told), strict=True)
    made = sum(
        min(len(said.statements), len(line.statements)) for said, line in beside if line is not None
    )
    return sum(len(line.statements) for line in told) - made


def believed_along(
    lines: Sequence[Line], told: Sequence[Line], chain: Chain
) -> tuple[str | None, ...]:
    """What a chain truly believes after each line of a recount.

    A line stands for the moment of its true line, one too many for that of the line before it.
    """
    believed, moment = list[str | None](), 0
    for place in _placed(lines, told):
        moment = moment if place is None else place + 1
        believed.append(implied(told[:moment], chain))
    return tuple(believed)


def aligned(lines: Sequence[Line], told: Sequence[Line]) -> tuple[Line | None, ...]:
    """The true line that each line of a recount stands for; None where it is one too many.

    Order counts: the lines are set beside the true ones, some left out on either side, such that
    as many statements as possible agree, and of what does not agree as much as possible is of one
    kind, and of one place.
    """
    return tuple(None if place is None else told[place] for place in _placed(lines, told))


def _placed(lines: Sequence[Line], told: Sequence[Line]) -> tuple[int | None, ...]:
    """The same as numbers of the true lines."""
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
"""What a statement that agrees weighs: more than the likeness of all lines that do not."""


def _likeness(said: Line, line: Line) -> int:
    alike = (type(said) is type(line)) * (1 + (said.place == line.place))
    return _AGREES * _agreeing(said, line) + alike


def _agreeing(said: Line, line: Line) -> int:
    return len(set(said.statements) & set(line.statements))
