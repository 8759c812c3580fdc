"""Observed and hidden twins of a story: a witness leaves after the decisive move, or before it.

The two stories consist of the same sentences; one stands in another place. Rules that look at words
alone therefore answer both alike, while the belief of the witness differs.
"""

from __future__ import annotations

from pipeline.tom.belief import beliefs
from pipeline.tom.rules import Rules
from pipeline.tom.story import Aside, Enter, Exit, Move, Present, Story


def witness_twins(events: Story, rules: Rules) -> tuple[Story, Story, str] | None:
    """Return (observed, hidden, witness) made from a story, or None where it offers no such pair.

    Looks for an agent who leaves a room before something is moved in it, and lets this agent leave
    right after that move instead.
    """
    for leaving, exit_event in enumerate(events):
        if not isinstance(exit_event, Exit):
            continue
        moved = _next_move(events, leaving)
        if moved is None:
            continue
        move = events[moved]
        assert isinstance(move, Move)
        before, between = events[:leaving], events[leaving + 1 : moved + 1]
        observed = (*before, *between, exit_event, *events[moved + 1 :])
        witness = (exit_event.agent,)
        seen = beliefs(observed, rules).of(witness, move.object)
        if seen is not None and seen != beliefs(events, rules).of(witness, move.object):
            return observed, events, exit_event.agent
    return None


def _next_move(events: Story, leaving: int) -> int | None:
    """Return the next move in the room that the witness leaves, unless they are back by then."""
    exit_event = events[leaving]
    assert isinstance(exit_event, Exit)
    where = _rooms(events[:leaving])
    for index, event in enumerate(events[leaving + 1 :], leaving + 1):
        match event:
            case Enter(agents, room):
                where.update(dict.fromkeys(agents, room))
                if exit_event.agent in agents:
                    return None
            case Aside(_, peeking, distracted) if exit_event.agent in (*peeking, *distracted):
                return None  # a witness who stays cannot look on from outside
            case Move(agent) if agent != exit_event.agent and where.get(agent) == exit_event.room:
                return index
    return None


def _rooms(events: Story) -> dict[str, str]:
    where: dict[str, str] = {}
    for event in events:
        match event:
            case Enter(agents, room):
                where.update(dict.fromkeys(agents, room))
            case Present(agent, room):
                where[agent] = room
    return where
