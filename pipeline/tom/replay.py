"""Replaying a story: events in, observations out, under the rules of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.tom.observation import CONTAINER, GONE, ROOM, TOPIC, Chain, Observation
from pipeline.tom.rules import Rules
from pipeline.tom.scene import Scene
from pipeline.tom.story import (
    WAITING_ROOM,
    Action,
    Aside,
    Carry,
    Change,
    Claim,
    Discuss,
    Enter,
    Exit,
    Move,
    Place,
    Present,
    Remark,
    Report,
    Story,
)

_NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class Replay:
    """The state of the world during a replay, and the observations so far."""

    rules: Rules
    agents: tuple[str, ...]
    room_of: dict[str, str] = field(default_factory=dict)  # agents
    place_of: dict[str, str] = field(default_factory=dict)  # objects and containers -> room
    container_of: dict[str, str | None] = field(default_factory=dict)  # GONE: taken out of one
    states: dict[str, list[str]] = field(default_factory=dict)  # what can be seen of an object
    scene: Scene = field(default_factory=Scene)
    observations: list[Observation] = field(default_factory=list)
    moment: int = 0
    peeking: frozenset[str] = _NOBODY  # during the present event
    distracted: frozenset[str] = _NOBODY

    def run(self, story: Story) -> list[Observation]:
        for self.moment, event in enumerate(story):
            if isinstance(event, Aside):
                self.peeking = frozenset(event.peeking if self.rules.secret_witnesses else ())
                self.distracted = frozenset(event.distracted if self.rules.inattention else ())
                self._happen(event.action)
                self.peeking = self.distracted = _NOBODY
            else:
                self._happen(event)
        return self.observations

    def _happen(self, action: Action | Remark) -> None:
        match action:
            case Enter(agents, room):
                self._enter(agents, room)
            case Present(agent, room):
                self._enter((agent,), room)
            case Exit(agent):
                self.room_of.pop(agent, None)
                self.scene.leave(agent)
            case Place(thing, container, room):
                self.place_of[thing], self.container_of[thing] = room, container
                self.observe(thing, container, self.present(room))
            case Move(agent, thing, container):
                self._move(agent, thing, container)
            case Claim(speaker, listener, thing, container):
                self._claim(speaker, listener, thing, container)
            case Carry(agent, thing, room):
                self._carry(agent, thing, room)
            case Change(agent, thing, state, visible) if thing is not None:
                self._change(agent, thing, state, visible)
            case Discuss(speaker, listener, topic):
                self.observe(topic, topic, self._audience(speaker, listener), TOPIC, real=False)
            case Report(speaker, listener, thing, aspect, place):
                self.observe(thing, place, self._audience(speaker, listener), aspect, real=False)

    def present(self, room: str) -> frozenset[str]:
        return frozenset(agent for agent in self.agents if self.room_of.get(agent) == room)

    def observe(
        self,
        thing: str,
        value: str | None,
        group: frozenset[str],
        aspect: str = CONTAINER,
        chains: Iterable[Chain] = (),
        real: bool = True,
    ) -> None:
        """Record a joint observation of the group, with peekers and without the distracted."""
        aware = (
            (group | self.peeking) - self.distracted if self.peeking or self.distracted else None
        )
        self.observations.append(
            Observation(self.moment, thing, value, group, frozenset(chains), real, aspect, aware)
        )

    def _fact(self, thing: str, value: str | None, aspect: str) -> None:
        self.observations.append(Observation(self.moment, thing, value, _NOBODY, aspect=aspect))

    def _enter(self, agents: tuple[str, ...], room: str) -> None:
        for agent in agents:
            self.room_of[agent] = room
        self.scene.enter(agents, room, self.present(room))
        if room != WAITING_ROOM and self.rules.refresh_on_entry:
            for thing, where in self.place_of.items():
                if where == room:
                    self._look_at(thing, agents, room)

    def _look_at(self, thing: str, newcomers: tuple[str, ...], room: str) -> None:
        """Newcomers see a thing of the room, and all present know that all present see it."""
        if not self.rules.containers_hide:
            self.observe(thing, self.container_of[thing], self.present(room))
        elif thing in self.container_of:
            for newcomer in newcomers:
                self._miss(thing, newcomer, self.present(room))
        else:
            self.observe(thing, self.place_of[thing], self.present(room), ROOM)
            for state in self.states.get(thing, ()):
                self.observe(thing, state, self.present(room), state)

    def _miss(self, thing: str, newcomer: str, present: frozenset[str]) -> None:
        """A newcomer who knew an object only in the open no longer knows where it is.

        It has been put away meanwhile, and everybody present can tell that they do not know.
        (``enter_room``, part 2.b.1 of ExploreToM's belief tracker.)
        """
        known = {
            o.aspect for o in self.observations if o.object == thing and o.reaches((newcomer,))
        }
        if known and CONTAINER not in known:
            aware = (present | self.peeking) - self.distracted
            chains = {(newcomer,)} | {(other, newcomer) for other in aware}
            chains |= {(newcomer, other) for other in present}
            self.observations.append(
                Observation(self.moment, thing, GONE, _NOBODY, frozenset(chains), False, ROOM)
            )

    def _move(self, agent: str, thing: str, container: str) -> None:
        room = self.room_of[agent]
        group = self.present(room)
        self.place_of[thing], self.container_of[thing] = room, container
        if not self.rules.containers_hide:
            self.observe(thing, container, group)
            return
        chains: set[Chain] = set()
        if self.rules.quirk_distracted_second_order:
            chains = {(one, other) for one in self.distracted for other in group}
        self.observe(thing, container, group, CONTAINER, chains)
        self.observe(thing, room, group, ROOM, chains)
        self.place_of[container] = room
        self._fact(container, room, ROOM)

    def _carry(self, agent: str, thing: str, room: str) -> None:
        """Object and agent leave, the agent enters, the object enters (``move_object_room``)."""
        behind = self.present(self.room_of[agent])
        if self.container_of.get(thing) is not None:
            self.observe(thing, GONE, behind)
            self.container_of[thing] = GONE
        self.observe(thing, GONE, behind, ROOM)
        self.place_of.pop(thing, None)
        self._enter((agent,), room)
        self.place_of[thing] = room
        self.observe(thing, room, self.present(room), ROOM)

    def _change(self, agent: str, thing: str, state: str, visible: bool) -> None:
        room = self.room_of[agent]
        group = self.present(room)
        self.place_of[thing] = room
        self.observe(thing, state, group, state)
        self.observe(thing, room, group, ROOM)
        if visible and self.rules.states_show:
            self.states.setdefault(thing, []).append(state)

    def _audience(self, speaker: str, listener: str | None) -> frozenset[str]:
        return frozenset((speaker, listener)) if listener else self.present(self.room_of[speaker])

    def _trusts(self, listener: str, speaker: str) -> bool:
        if self.rules.all_trusted:
            return True
        return self.rules.trust_by_exit_order and self.scene.trusts(
            listener, speaker, self.rules.trust_of_those_inside
        )

    def _claim(self, speaker: str, listener: str | None, thing: str, container: str) -> None:
        """The speaker thinks every listener believes it; those who trust the speaker do.

        A public claim is heard by everybody in the story, wherever they are. The speaker's own
        belief stays, and so does what two listeners think of each other.
        """
        chains: set[Chain] = set()
        for hearer in (listener,) if listener else self.agents:
            if hearer == speaker:
                continue
            chains.add((speaker, hearer))
            if self._trusts(hearer, speaker):
                chains |= {(hearer,), (hearer, speaker)}
        self.observe(thing, container, _NOBODY, CONTAINER, chains, real=False)
