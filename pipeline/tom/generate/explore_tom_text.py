"""The words of ExploreToM-style stories, with their topics and states."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.tom.parse.text import listed
from pipeline.tom.story import (
    Action,
    Aside,
    Carry,
    Change,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Report,
    Story,
    agents_of,
)

TOPICS = (
    "annual budget",
    "broken heating",
    "charity run",
    "choir rehearsal",
    "delayed shipment",
    "farewell dinner",
    "flower order",
    "lease renewal",
    "missing invoice",
    "new parking rules",
    "opening night",
    "summer timetable",
)

STATES: Mapping[str, str] = {
    "painted the {thing} bright green": "{thing} is painted bright green",
    "tied a yellow ribbon around the {thing}": "{thing} has a yellow ribbon tied around it",
    "wrote a phone number on the {thing}": "{thing} has a phone number written on it",
    "scratched the back of the {thing}": "{thing} has a scratched back",
    "wrapped the {thing} in brown paper": "{thing} is wrapped in brown paper",
    "glued a paper star to the {thing}": "{thing} has a paper star glued to it",
    "cut a corner off the {thing}": "{thing} has a corner cut off",
    "dusted the {thing} with flour": "{thing} is dusted with flour",
}
"""Sentence by state change, and the clause that asks about it; all states are visible later."""


def render(events: Story) -> str:
    people = frozenset(agents_of(events))
    rooms: dict[str, str] = {}
    return " ".join(_sentence(event, rooms, people) for event in events)


def _sentence(event: Event, rooms: dict[str, str], people: frozenset[str]) -> str:
    if not isinstance(event, Aside):
        return f"{told(event, rooms, people)}."
    watched = (
        f"{listed(event.peeking)} witnessed this action in secret (and only this action)"
        if event.peeking
        else ""
    )
    missed = (
        f"{listed(event.distracted)} got distracted and did not realize what happened, without "
        "anyone noticing the brief lack of attention, and going back to paying attention "
        "immediately after the action was finished"
        if event.distracted
        else ""
    )
    aside = "; also, ".join(part for part in (watched, missed) if part)
    return f"{told(event.action, rooms, people)}. While this action was happening, {aside}."


def told(event: Event, rooms: dict[str, str], people: frozenset[str]) -> str:
    """Write an action without its full stop; ``rooms`` is updated."""
    match event:
        case Enter((agent,), room):
            rooms[agent] = room
            return f"{agent} entered the {room}"
        case Exit(agent, room):
            return f"{agent} left the {room}"
        case Move(agent):
            return f"{quoted(event)}, which is also located in the {rooms[agent]}"
        case Carry(agent, _, room, left):
            rooms[agent] = room
            ending = f", leaving the {left} in its original location" if left else ""
            return f"{quoted(event)}{ending}"
        case Change(agent, _, state):
            return f"{agent} {state}"
        case Discuss(speaker, listener, topic):
            return f"{speaker} told {_whom(listener)} about the {topic}"
        case Report(speaker, listener, thing, _, place):
            named = thing if thing in people else f"the {thing}"
            return f"{speaker} told {_whom(listener)} that {named} is in the {place}"
    raise ValueError(f"ExploreToM has no sentence for {event}")


def quoted(move: Action) -> str:
    """A move as questions quote it: without its last part."""
    match move:
        case Move(agent, thing, place) | Carry(agent, thing, place):
            return f"{agent} moved the {thing} to the {place}"
    raise ValueError(f"ExploreToM quotes moves only, not {move}")


def _whom(listener: str | None) -> str:
    return f"privately to {listener}" if listener else "out loud"
