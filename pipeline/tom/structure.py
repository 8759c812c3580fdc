"""The structure of a story: its events, whatever the agents, objects and places are called.

Stories of one structure differ in names only. A model can answer them by pattern, so tests say more
on structures that training did not show.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import get_args

from pipeline.tom.story import (
    WAITING_ROOM,
    Action,
    Enter,
    Event,
    Remark,
    Stay,
    Story,
    agents_of,
)

_KINDS = {
    "agents": "agent",
    "agent": "agent",
    "speaker": "agent",
    "listener": "agent",
    "peeking": "agent",
    "distracted": "agent",
    "object": "object",
    "room": "place",
    "container": "place",
    "left": "place",
    "place": "place",
    "topic": "topic",
    "state": "state",
}
"""The kind of name in each field of an event; other fields belong to the structure as they are."""

_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in get_args(Event)}

Part = str | bool | None | tuple[str, ...]
Step = tuple[Part, ...]


def structure(story: Story) -> tuple[Step, ...]:
    """The events of a story with every name replaced by its kind and number.

    Names are numbered in order of first use; agents who enter together, by what each does next.
    Events without effect (remarks, staying, the waiting room) are left out. Equal values mean equal
    stories up to renaming.
    """
    told = tuple(event for event in story if _matters(event))
    names = _Names(_doings(told))
    return tuple(_step(event, names) for event in told)


def _matters(event: Event) -> bool:
    if isinstance(event, Enter):
        return event.room != WAITING_ROOM
    return not isinstance(event, Remark | Stay)


def structure_id(story: Story) -> str:
    """A short digest of a story's structure, stable across machines and runs."""
    text = json.dumps(structure(story), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


Doings = tuple[tuple[int, str], ...]
"""(event index, part) of each occurrence of an agent."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The numbers so far; ``doings`` tells apart agents who are new in one event."""

    doings: dict[str, Doings]
    numbers: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def of(self, kind: str, name: str) -> str:
        if (kind, name) not in self.numbers:
            self.counts[kind] += 1
            self.numbers[kind, name] = f"{kind} {self.counts[kind]}"
        return self.numbers[kind, name]

    def of_group(self, agents: tuple[str, ...]) -> tuple[str, ...]:
        known = [agent for agent in agents if ("agent", agent) in self.numbers]
        new = sorted(set(agents) - set(known), key=lambda agent: self.doings[agent])
        return tuple(sorted((self.of("agent", agent) for agent in (*known, *new)), key=_by_number))


def _by_number(numbered: str) -> int:
    return int(numbered.rsplit(" ", 1)[1])


def _doings(story: Story) -> dict[str, Doings]:
    found: dict[str, list[tuple[int, str]]] = {agent: [] for agent in agents_of(story)}
    for position, event in enumerate(story):
        for part, agent in _taking_part(event):
            found[agent].append((position, part))
    return {agent: tuple(doings) for agent, doings in found.items()}


def _taking_part(event: Event) -> Iterator[tuple[str, str]]:
    """Yield (agent, part)."""
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        if isinstance(value, Action):
            yield from _taking_part(value)
        elif _KINDS.get(name) == "agent" and value is not None:
            for agent in (value,) if isinstance(value, str) else value:
                yield name, agent


def _step(event: Event, names: _Names) -> Step:
    parts: list[Part] = [type(event).__name__]
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        if isinstance(value, Action):
            parts.extend(_step(value, names))
        elif isinstance(value, tuple):
            parts.append(names.of_group(value))
        elif name in _KINDS and value is not None:
            parts.append(names.of(_KINDS[name], value))
        else:
            parts.append(value)
    return tuple(parts)


def named_parts(event: Event) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (kind, names) in the order of an event's fields."""
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        if isinstance(value, Action):
            yield type(value).__name__, ()
            yield from named_parts(value)
        elif name in _KINDS:
            names = (value,) if isinstance(value, str) else value
            yield _KINDS[name], names or ()
