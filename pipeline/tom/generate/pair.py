"""Twins of a story: one person sees or hears of something in one of them, and not in the other.

The stories of two twins differ in one event. Either the same sentences stand in another order (a
witness leaves after the decisive move, or before it), or one name stands in place of another (who
is told something, who looks on in secret, who is distracted). Rules that look at words alone
therefore answer both alike, while the belief of the witness differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from pipeline.tom.belief import beliefs
from pipeline.tom.rules import Rules
from pipeline.tom.story import (
    Aside,
    Carry,
    Claim,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Present,
    Report,
    Story,
    agents_of,
)

LEAVES, HEARS, SEES = "leaves", "hears", "sees"
"""The difference: when the witness leaves, who is told, who looks on in secret or is distracted."""


class NoPair(ValueError):
    """The stories of these settings offer no twins."""


@dataclass(frozen=True, slots=True)
class Twins:
    """Two stories that differ in one event.

    Attributes:
        observed: The witness sees or hears of it; in ``hidden`` not.
        witness: Whose belief is concerned.
        intervention: One of ``LEAVES``, ``HEARS`` and ``SEES``.
    """

    observed: Story
    hidden: Story
    witness: str
    intervention: str


def drawn_twins(events: Story, rules: Rules, random: Random) -> Iterator[Twins]:
    """Yield all twins made from a story, in random order; first those of one kind."""
    kinds = [list(leaving_twins(events, rules)), list(hearing_twins(events))]
    random.shuffle(kinds)
    for kind in kinds:
        yield from random.sample(kind, len(kind))


def leaving_twins(events: Story, rules: Rules) -> Iterator[Twins]:
    """Yield twins in one of which somebody leaves right after a move, not before it."""
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
            yield Twins(observed, events, exit_event.agent, LEAVES)


def hearing_twins(events: Story) -> Iterator[Twins]:
    """Yield twins in one of which somebody else is told, looks on in secret, or is distracted.

    Whether any belief differs is for the caller to see: not everything said is believed.
    """
    people = agents_of(events)
    for moment, event in enumerate(events):
        before, after = events[:moment], events[moment + 1 :]
        for witness, seen, unseen in _readdressed(event, before, people):
            intervention = SEES if isinstance(event, Aside) else HEARS
            yield Twins((*before, seen, *after), (*before, unseen, *after), witness, intervention)


def _readdressed(
    event: Event, before: Story, people: tuple[str, ...]
) -> Iterator[tuple[str, Event, Event]]:
    """Yield (witness, event if the witness notices, event if not)."""
    match event:
        case (
            Claim(speaker, str(listener))
            | Report(speaker, str(listener))
            | Discuss(speaker, str(listener))
        ):
            others = [who for who in people if who not in (speaker, listener)]
            yield from ((listener, event, replace(event, listener=who)) for who in others)
        case Aside(action, (peeking,), ()):
            present = _present(action, before)
            others = [who for who in people if who not in (*present, peeking)]
            yield from ((peeking, event, replace(event, peeking=(who,))) for who in others)
        case Aside(action, (), (distracted,)):
            actor, *_ = agents_of((action,))
            others = [who for who in _present(action, before) if who not in (actor, distracted)]
            yield from ((distracted, replace(event, distracted=(who,)), event) for who in others)


def _present(action: Event, before: Story) -> list[str]:
    """Witnesses of an action: those present, or spoken to in private."""
    actor, *listeners = agents_of((action,))
    if listeners:
        return [actor, *listeners]
    where = _rooms(before)
    return [who for who in where if where[who] == where.get(actor)]


def _next_move(events: Story, leaving: int) -> int | None:
    """The next move in the room that the witness leaves, unless they are back by then."""
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
        match event.action if isinstance(event, Aside) else event:
            case Enter(agents, room):
                where.update(dict.fromkeys(agents, room))
            case Present(agent, room) | Carry(agent, _, room):
                where[agent] = room
            case Exit(agent):
                where.pop(agent, None)
    return where
