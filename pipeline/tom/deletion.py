"""Twins of a published story: the same sentences without one of them, and another answer.

The project's own pairs tell one event in two ways (:mod:`pipeline.tom.generate.pair`). A story that
others wrote is left as it is; its twin lacks one event on which a belief hangs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.tom.belief import beliefs
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM, HI_TOM_LITERAL
from pipeline.tom.story import Claim, Enter, Event, Exit, Move, Place, Stay, Story

DELETED: Mapping[type[Event], str] = {Move: "move", Exit: "exit", Claim: "claim"}
"""The events that may be deleted, by name.

Not an entry: in Hi-ToM all of a chapter enter in one sentence, and act in that room afterwards.
"""


@dataclass(frozen=True, slots=True)
class Deletion:
    """An event without which a question has another answer.

    Attributes:
        kind: A value of ``DELETED``.
    """

    moment: int
    kind: str
    answer: str


def deletions(events: Story, question: WhereQuestion, choices: Sequence[str]) -> Iterator[Deletion]:
    """Yield the deletions after which a story of Hi-ToM has another option as its answer.

    The rest must be well-formed, and its answer must not depend on whether somebody outside
    believes a speaker who is still inside.
    """
    answer = question.answer(beliefs(events, HI_TOM))
    for moment, event in enumerate(events):
        left = (*events[:moment], *events[moment + 1 :])
        kind = DELETED.get(type(event))
        if kind is None or not is_well_formed(left):
            continue
        found = question.answer(beliefs(left, HI_TOM))
        literally = question.answer(beliefs(left, HI_TOM_LITERAL))
        if found is not None and found == literally and found != answer and found in choices:
            yield Deletion(moment, kind, found)


def is_well_formed(events: Story) -> bool:
    """The events of a story of Hi-ToM can happen in this order.

    Whoever acts, stays or leaves is there. An object is moved to another place by somebody in its
    room, and claims are about its true place. Whoever enters a room has left the one before.
    """
    room_of: dict[str, str] = {}
    place_of: dict[str, tuple[str, str]] = {}
    for event in events:
        match event:
            case Enter(agents, room):
                room_of |= dict.fromkeys(agents, room)
            case Exit(agent, room) | Stay(agent, room) if room_of.get(agent) != room:
                return False
            case Exit(agent):
                del room_of[agent]
            case Place(thing, container, room):
                if place_of.setdefault(thing, (container, room)) != (container, room):
                    return False
            case Move(agent, thing, container):
                here, room = place_of.get(thing, (container, ""))
                if here == container or room_of.get(agent) != room:
                    return False
                place_of[thing] = container, room
    return True
