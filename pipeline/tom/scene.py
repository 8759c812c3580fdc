"""Scenes: the stretches of a story in which one group meets, whoever leaves and comes back.

Hi-ToM's assumption 3 (its prompt note) lets a listener trust whoever left after them. That is an
order of exits, and it needs a beginning. A scene begins when the first agent enters a room, and
again when two or more agents enter another room, or the same one after everybody has left. Whoever
else enters the room of the scene joins it or comes back, and has left only when they leave again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.tom.story import WAITING_ROOM, Aside, Carry, Enter, Exit, Present, Story


@dataclass(slots=True)
class Scene:
    """The present scene.

    Attributes:
        taking_part: Everybody who has been in it; ``room`` is None before anybody entered one.
        exits: Those who took part and are outside now, the first to leave first.
    """

    room: str | None = None
    taking_part: set[str] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)
    exits: list[str] = field(default_factory=list)

    def enter(self, agents: tuple[str, ...], room: str, there: frozenset[str]) -> bool:
        """Let agents enter a room; true if that begins a scene.

        Args:
            agents: The agents who enter.
            room: The room.
            there: Everybody in that room then.
        """
        if room != self.room:
            for agent in agents:
                self.leave(agent)
        if room == WAITING_ROOM:
            return False
        again = room == self.room and not self.inside
        begins = self.room is None or (len(agents) > 1 and (room != self.room or again))
        if begins:
            self.room, self.taking_part, self.exits = room, set(there), []
        if room == self.room:
            self.inside = set(there)
            self.taking_part |= there
            self.exits = [agent for agent in self.exits if agent not in there]
        return begins

    def leave(self, agent: str) -> None:
        if agent in self.inside:
            self.inside.remove(agent)
            self.exits.append(agent)

    def trusts(self, listener: str, speaker: str, stayed: bool = True) -> bool:
        """The listener believes the speaker.

        Whoever took no part believes everybody. Whoever is inside has seen all of it and believes
        nobody. Whoever is outside believes those who left after them, and those still inside, but
        nobody who took no part. Who came back has not left.

        Args:
            stayed: Somebody outside believes those still inside.
        """
        if listener not in self.taking_part:
            return True
        if listener not in self.exits:
            return False
        if speaker in self.inside:
            return stayed
        left = self.exits
        return speaker in left and left.index(listener) < left.index(speaker)


def scene_starts(story: Story) -> Iterator[int]:
    """Yield the moments at which scenes begin."""
    scene, room_of = Scene(), dict[str, str]()
    for moment, event in enumerate(story):
        match event.action if isinstance(event, Aside) else event:
            case Enter(agents, room):
                room_of.update(dict.fromkeys(agents, room))
                if scene.enter(agents, room, _there(room_of, room)):
                    yield moment
            case Present(agent, room) | Carry(agent, _, room):
                room_of[agent] = room
                if scene.enter((agent,), room, _there(room_of, room)):
                    yield moment
            case Exit(agent):
                room_of.pop(agent, None)
                scene.leave(agent)


def _there(room_of: dict[str, str], room: str) -> frozenset[str]:
    return frozenset(agent for agent, where in room_of.items() if where == room)
