"""ToMi text to events: numbered lines or running text, noise with or without full stop."""

from __future__ import annotations

import re

from pipeline.tom.parse.text import ParsedStory, ParseError, check_presence, match_question
from pipeline.tom.question import BEGINNING, NOW, WhereQuestion
from pipeline.tom.story import Enter, Event, Exit, Move, Place, Present, Remark, Story

# Noise may lack its full stop ("Mila loves the plum Hunter entered the hall."), so sentences are
# recognised one after the other from the start of the text instead of being split at full stops.
_SENTENCE = re.compile(
    r"""\s*(?:\d+\s+)?(?P<words>
    The\ (?P<placed>[\w-]+)\ is\ in\ the\ (?P<at>[\w-]+)\.
    |(?P<enters>\w+)\ entered\ the\ (?P<enter_room>[\w-]+)\.
    |(?P<exits>\w+)\ exited\ the\ (?P<exit_room>[\w-]+)\.
    |(?P<present>\w+)\ is\ in\ the\ (?P<present_room>[\w-]+)\.
    |(?P<mover>\w+)\ moved\ the\ (?P<moved>[\w-]+)\ to\ the\ (?P<to>[\w-]+)\.
    |(?P<noise>\w+\ (?:likes|dislikes|loves|hates)\ the\ [\w-]+)\.?
    )(?=\s|$)""",
    re.VERBOSE,
)
_UNPLACED = ""


def parse_story(text: str) -> ParsedStory:
    events: list[Event] = []
    sentences: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _SENTENCE.match(text, position)
        if match is None:
            rest = text[position:].strip()
            shown = re.split(r"(?<=\.)\s|\n", rest, maxsplit=1)[0]
            raise ParseError("tomi", len(events) + 1, shown)
        events.append(_event(match))
        sentences.append(match["words"])
        position = match.end()
    story = ParsedStory(_with_rooms(tuple(events)), tuple(sentences))
    check_presence("tomi", story)
    return story


def _event(match: re.Match[str]) -> Event:
    if match["placed"]:
        return Place(match["placed"], match["at"], _UNPLACED)
    if match["enters"]:
        return Enter((match["enters"],), match["enter_room"])
    if match["exits"]:
        return Exit(match["exits"], match["exit_room"])
    if match["present"]:
        return Present(match["present"], match["present_room"])
    if match["mover"]:
        return Move(match["mover"], match["moved"], match["to"])
    return Remark(match["noise"])


def _with_rooms(events: Story) -> Story:
    """Add the room in which an object is placed, which the text leaves out.

    It is the room of the object's mover at that moment (movers never come from elsewhere); without
    a mover, the room of whoever came in first.
    """
    movers = {event.object: event.agent for event in reversed(events) if isinstance(event, Move)}
    where: dict[str, str] = {}
    told: list[Event] = []
    for event in events:
        match event:
            case Enter((agent, *_), room) | Present(agent, room):
                where[agent] = room
            case Exit(agent):
                where.pop(agent, None)
            case Place(thing, container, _):
                fallback = next(iter(where.values()), _UNPLACED)
                event = Place(thing, container, where.get(movers.get(thing, ""), fallback))
        told.append(event)
    return tuple(told)


_QUESTIONS = (
    re.compile(r"Where was the (?P<beginning>[\w-]+) at the beginning\?"),
    re.compile(r"Where is the (?P<thing>[\w-]+) really\?"),
    re.compile(r"Where will (?P<first>\w+) look for the (?P<thing>[\w-]+)\?"),
    re.compile(
        r"Where does (?P<first>\w+) think that (?P<second>\w+) searches for the (?P<thing>[\w-]+)\?"
    ),
)


def parse_question(text: str) -> WhereQuestion:
    """Read a question: memory, reality, first or second order."""
    found = match_question("tomi", _QUESTIONS, text)
    chain = tuple(who for who in (found.get("first"), found.get("second")) if who)
    at_first = found.get("beginning")
    thing = at_first or found.get("thing") or ""
    return WhereQuestion(thing, chain, when=BEGINNING if at_first else NOW)
