"""What can happen in a story: one frozen dataclass per kind of event.

A story is a tuple of events in narrative order. Text is produced from events by
``pipeline.tom.generate`` and turned back into events by ``pipeline.tom.parse``; beliefs are
computed from events by ``pipeline.tom.belief``.
"""

from __future__ import annotations

from dataclasses import dataclass

WAITING_ROOM = "waiting_room"


@dataclass(frozen=True, slots=True)
class Enter:
    """One or more agents come into a room together."""

    agents: tuple[str, ...]
    room: str


@dataclass(frozen=True, slots=True)
class Present:
    """The narrator says that an agent is in a room already (ToMi: "Ann is in the attic.")."""

    agent: str
    room: str


@dataclass(frozen=True, slots=True)
class Exit:
    """One agent leaves a room."""

    agent: str
    room: str


@dataclass(frozen=True, slots=True)
class Place:
    """The narrator says where an object is; everyone in ``room`` sees it there."""

    object: str
    container: str
    room: str


@dataclass(frozen=True, slots=True)
class Move:
    """An agent moves an object into a container of the room they are in."""

    agent: str
    object: str
    container: str


@dataclass(frozen=True, slots=True)
class Stay:
    """An agent does nothing for a while (no effect on beliefs)."""

    agent: str
    room: str


@dataclass(frozen=True, slots=True)
class Claim:
    """An agent says where an object is: to everybody (``listener=None``) or to one agent.

    The claim may be a lie: it says nothing about the world.
    """

    speaker: str
    listener: str | None
    object: str
    container: str


@dataclass(frozen=True, slots=True)
class Carry:
    """An agent takes an object into another room and stays there with it (ExploreToM).

    ``left`` is the container the object is taken out of, which stays where it was.
    """

    agent: str
    object: str
    room: str
    left: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An agent changes an object, if the words tell which, in free words (ExploreToM).

    Attributes:
        state: The words after the agent's name, which stand for the new state.
        visible: The state can be seen later.
    """

    agent: str
    object: str | None
    state: str
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Discuss:
    """An agent brings up a topic: out loud (``listener=None``) or with one agent in private."""

    speaker: str
    listener: str | None
    topic: str


@dataclass(frozen=True, slots=True)
class Report:
    """An agent says in good faith where something is, and is believed (ExploreToM).

    ``aspect`` is ``"container"`` or ``"room"``, the kind of ``place`` that is told.
    """

    speaker: str
    listener: str | None
    object: str
    aspect: str
    place: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence without any effect, such as upstream's distractors ("A likes the red_box.")."""

    text: str


Action = Enter | Present | Exit | Place | Move | Carry | Change | Stay | Claim | Discuss | Report


@dataclass(frozen=True, slots=True)
class Aside:
    """An action with somebody who sees it in secret, or somebody present who misses it.

    Attributes:
        peeking: Agents elsewhere who see it; nobody knows that they do.
        distracted: Agents present who miss it; nobody knows that they do.
    """

    action: Action
    peeking: tuple[str, ...] = ()
    distracted: tuple[str, ...] = ()


Event = Action | Remark | Aside
Story = tuple[Event, ...]


def agents_of(story: Story) -> tuple[str, ...]:
    """The agents of a story in order of first appearance."""
    return tuple(dict.fromkeys(name for event in story for name in _named(event)))


_ACTING = (Present, Exit, Move, Carry, Change, Stay)
_SPEAKING = (Claim, Discuss, Report)


def _named(event: Event) -> tuple[str, ...]:
    if isinstance(event, Enter):
        return event.agents
    if isinstance(event, _ACTING):
        return (event.agent,)
    if isinstance(event, _SPEAKING):
        return (event.speaker, event.listener) if event.listener else (event.speaker,)
    if isinstance(event, Aside):
        return (*_named(event.action), *event.peeking, *event.distracted)
    return ()
