"""OpenToM plots to events, and the questions about them.

A plot is the skeleton that a narrative was written from (``plot`` in ``meta_data.json`` of
seacowx/OpenToM): who was there, where the thing was, who moved it and whether the other saw it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tom.parse.text import ParsedStory, ParseError, check_presence
from pipeline.tom.story import Aside, Enter, Event, Exit, Move, Place, Present

_ENTER = re.compile(r"(\w+) entered the ([\w-]*)\.")
_PRESENT = re.compile(r"(\w+) is in the ([\w-]*)\.")
_EXIT = re.compile(r"(\w+) exited the ([\w-]*)\.")
_PLACE = re.compile(
    r"Both (?P<one>\w+) and (?P<other>\w+) noticed that the (?P<thing>.+) is in the (?P<place>.+)"
    r" in the (?P<room>[\w-]*)\s*\."
)
_MOVE = re.compile(
    r"(?P<mover>\w+) moved the (?P<thing>.+?) to (?:the )?(?P<place>.+?) (?:and|but) "
    r"(?P<observer>\w+) (?P<saw>witnessed|did not witness) the (?:action|event)\."
)


def parse_plot(plot: str, observed: bool | None = None) -> ParsedStory:
    """Read a plot.

    Args:
        plot: One sentence a line.
        observed: Whether the observer saw the move, where known from the record. Upstream's labels
            follow the record, whose text says "did not witness the action" of 44 observers who are
            present and do see it; without it, the text is taken at its word.

    Raises:
        ParseError: At a line that is not one of a plot's, or a mover who is in no room.
    """
    events: list[Event] = []
    sentences: list[str] = []
    inside: dict[str, str] = {}
    lines = [line.strip() for line in plot.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        told = _events(line, inside, observed)
        if not told:
            raise ParseError("opentom", number, line)
        events += told
        sentences += [line] * len(told)
        for event in told:
            match event:
                case Enter((agent, *_), room) | Present(agent, room):
                    inside[agent] = room
                case Exit(agent):
                    inside.pop(agent, None)
    story = ParsedStory(tuple(events), tuple(sentences))
    check_presence("opentom", story)
    return story


def _events(line: str, inside: Mapping[str, str], observed: bool | None) -> list[Event]:
    if match := _ENTER.fullmatch(line):
        return [Enter((match[1],), match[2])]
    if match := _EXIT.fullmatch(line):
        return [Exit(match[1], match[2])]
    if match := _PLACE.fullmatch(line):
        room = match["room"]
        unannounced = [who for who in (match["one"], match["other"]) if inside.get(who) != room]
        present = [Present(who, room) for who in unannounced]
        return [*present, Place(match["thing"], match["place"], room)]
    if match := _PRESENT.fullmatch(line):
        return [Present(match[1], match[2])]
    if match := _MOVE.fullmatch(line):
        saw = match["saw"] == "witnessed" if observed is None else observed
        together = inside.get(match["observer"]) == inside.get(match["mover"])
        return [_seen(match, saw, together)]
    return []


def _seen(move: re.Match[str], saw: bool, together: bool) -> Event:
    action = Move(move["mover"], move["thing"], move["place"])
    if saw and not together:
        return Aside(action, peeking=(move["observer"],))
    if not saw and together:
        return Aside(action, distracted=(move["observer"],))
    return action


INITIAL, PLACE, BEGINNING, FULLNESS, ACCESSIBILITY, ATTITUDE = (
    "initial",
    "place",
    "beginning",
    "fullness",
    "accessibility",
    "attitude",
)


@dataclass(frozen=True, slots=True)
class PlotQuestion:
    """A question about a plot.

    Attributes:
        kind: ``initial`` (is it in its initial place?), ``place`` (where is it?), ``beginning``
            (where was it?), ``fullness`` (of a container), ``accessibility`` (of the thing), or
            ``attitude``.
        chain: Whose perspective, and whose within it; empty for the narrator's.
        thing: The thing or container asked about.
    """

    kind: str
    chain: tuple[str, ...]
    thing: str


_FROM = r"From (?P<first>\w+)'s perspective, "
_BY_END = r"by the end of the story\?"
_QUESTIONS = (
    (INITIAL, _FROM + r"is the (?P<thing>.+) in its initial location " + _BY_END),
    (
        INITIAL,
        _FROM
        + r"does (?P<second>\w+) think that the (?P<thing>.+) is in its initial location "
        + _BY_END,
    ),
    (PLACE, _FROM + r"where is (?:the )?(?P<thing>.+) located (?:precisely )?" + _BY_END),
    (
        PLACE,
        _FROM
        + r"where precisely does (?P<second>\w+) think that the (?P<thing>.+) is located "
        + _BY_END,
    ),
    (
        BEGINNING,
        _FROM + r"where is (?:the )?(?P<thing>.+) located in the beginning of the story\?",
    ),
    (
        FULLNESS,
        _FROM + r"how does (?P<second>\w+) think (?P<thing>.+)'s fullness would change " + _BY_END,
    ),
    (FULLNESS, _FROM + r"how does (?P<thing>.+)'s fullness change " + _BY_END),
    (
        ACCESSIBILITY,
        _FROM
        + r"how would (?P<thing>.+?)'s accessibility change(?: for (?P<second>\w+))? "
        + _BY_END,
    ),
    (
        ATTITUDE,
        r"As (?P<first>\w+), what is your attitude towards \w+'s action of moving (?P<thing>.+) "
        + r"from .+ to .+\?",
    ),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _QUESTIONS)


def parse_question(text: str) -> PlotQuestion:
    """Read a question of any of OpenToM's seven files.

    Raises:
        ParseError: If it is not one of them.
    """
    question = " ".join(text.split())
    for kind, pattern in _COMPILED:
        if match := pattern.fullmatch(question):
            found = match.groupdict()
            who = (found["first"], found.get("second"))
            chain = tuple(agent for agent in who if agent and agent != "narrator")
            return PlotQuestion(kind, chain, found["thing"])
    raise ParseError("opentom", 1, question, "it is not a question of this benchmark")
