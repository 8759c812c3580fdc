"""Acting on minds: what one agent can do so that others come to believe something.

After a story an agent may act a few times: enter or leave the room, move the object, claim where it
is in public or to one other. A goal says where chains of agents are to believe that it is at the
end, and where not. A plan reaches it if a replay of the story with the plan does, whether or not
somebody outside trusts a speaker who is still inside (``trust_of_those_inside``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import Chain
from pipeline.tom.replay import Replay
from pipeline.tom.rules import HI_TOM, HI_TOM_LITERAL
from pipeline.tom.scene import Scene
from pipeline.tom.story import (
    WAITING_ROOM,
    Claim,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Story,
    agents_of,
)

MOST_ACTS = 3
"""Acts that a plan may have; every goal here can be reached in two."""

Plan = tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A chain is to believe that the object is in a place; or not, where ``so`` is false."""

    chain: Chain
    place: str
    so: bool = True


Goal = tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class Acting:
    """An agent who may act after a story of one room and one object.

    Attributes:
        places: The places that the story names, in order.
    """

    story: Story
    actor: str
    thing: str
    room: str
    places: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(agent for agent in agents_of(self.story) if agent != self.actor)

    def begins(self) -> World:
        """The world at the end of the story."""
        replays = tuple(Replay(rules, agents_of(self.story)) for rules in _READINGS)
        for replay in replays:
            replay.run(self.story)
        return World((), replays)

    def after(self, plan: Sequence[Event]) -> World | None:
        """The world after a plan; None where the agent cannot do that."""
        world = self.begins()
        for act in plan:
            if not self._can(act, world):
                return None
            world = world.then(act)
        return world

    def reaches(self, plan: Sequence[Event], goal: Goal) -> bool:
        """The agent can do what a plan says, and it reaches the goal."""
        world = self.after(plan)
        return world is not None and world.reaches(goal, self.thing)

    def acts(self, world: World, places: Sequence[str]) -> Iterator[Event]:
        """Yield what the agent can do, with these places."""
        inside = world.inside(self.actor, self.room)
        yield Exit(self.actor, self.room) if inside else Enter((self.actor,), self.room)
        for place in places:
            if inside and place != world.really(self.thing):
                yield Move(self.actor, self.thing, place)
            for hearer in (None, *self.others):
                yield Claim(self.actor, hearer, self.thing, place)

    def _can(self, act: Event, world: World) -> bool:
        inside = world.inside(self.actor, self.room)
        match act:
            case Exit(agent, room) | Enter((agent,), room):
                return (agent, room) == (self.actor, self.room) and inside == isinstance(act, Exit)
            case Move(agent, thing, _):
                return (agent, thing) == (self.actor, self.thing) and inside
            case Claim(speaker, hearer, thing, _):
                right = (speaker, thing) == (self.actor, self.thing)
                return right and hearer in (None, *self.others)
        return False


_READINGS = (HI_TOM, HI_TOM_LITERAL)


@dataclass(frozen=True, slots=True)
class World:
    """What has happened, under each reading of trust; ``plan`` are the acts since the story."""

    plan: Plan
    replays: tuple[Replay, ...]

    def then(self, act: Event) -> World:
        return World((*self.plan, act), tuple(_going_on(each, act) for each in self.replays))

    def inside(self, agent: str, room: str) -> bool:
        return self.replays[0].room_of.get(agent) == room

    def really(self, thing: str) -> str | None:
        return self.replays[0].container_of.get(thing)

    def believed(self, chain: Chain, thing: str) -> str | None:
        """Where a chain believes a thing to be; None if nowhere, or if the readings differ."""
        found = {Beliefs(tuple(each.observations)).of(chain, thing) for each in self.replays}
        return found.pop() if len(found) == 1 else None

    def reaches(self, goal: Goal, thing: str) -> bool:
        return all(_reached(each, goal, thing) for each in self.replays)

    def would_reach(self, act: Event, goal: Goal, thing: str) -> bool:
        """One more act reaches the goal."""
        return all(_reached(_going_on(each, act), goal, thing) for each in self.replays)


def _going_on(replay: Replay, act: Event) -> Replay:
    scene = replay.scene
    copied = replace(
        replay,
        room_of=dict(replay.room_of),
        place_of=dict(replay.place_of),
        container_of=dict(replay.container_of),
        scene=Scene(scene.room, set(scene.taking_part), set(scene.inside), list(scene.exits)),
        observations=list(replay.observations),
    )
    copied.run((act,))
    return copied


def _reached(replay: Replay, goal: Goal, thing: str) -> bool:
    known = Beliefs(tuple(replay.observations))
    return all((known.of(each.chain, thing) == each.place) == each.so for each in goal)


def acting(story: Story, actor: str) -> Acting | None:
    """An agent after a story; None for one with several rooms or objects."""
    rooms = {e.room for e in story if isinstance(e, Enter) and e.room != WAITING_ROOM}
    named = [(e.object, e.container) for e in story if isinstance(e, Place | Move | Claim)]
    things = {thing for thing, _ in named}
    if len(rooms) != 1 or len(things) != 1:
        return None
    places = tuple(dict.fromkeys(place for _, place in named))
    return Acting(story, actor, things.pop(), rooms.pop(), places)


def plans(asked: Acting, goal: Goal) -> Iterator[Plan]:
    """Yield every plan of one act, then of two, that reaches a goal; none if it is reached already.

    One place beside the goal's stands for all others, since these are alike.
    """
    aimed = tuple(dict.fromkeys(wanted.place for wanted in goal))
    places = (*aimed, *[place for place in asked.places if place not in aimed][:1])
    begun = asked.begins()
    if begun.reaches(goal, asked.thing):
        return
    once = [begun.then(act) for act in asked.acts(begun, places)]
    yield from (world.plan for world in once if world.reaches(goal, asked.thing))
    for world in once:
        for act in asked.acts(world, places):
            if world.would_reach(act, goal, asked.thing):
                yield (*world.plan, act)


def literal(asked: Acting, goal: Goal) -> Plan:
    """Level 0: as if beliefs were the world, put the object where it is to be believed to be."""
    enter = () if asked.begins().inside(asked.actor, asked.room) else (_enter(asked),)
    return (*enter, Move(asked.actor, asked.thing, goal[0].place))


def trusting(asked: Acting, goal: Goal) -> Plan:
    """Level 1: as if people believed what they are told, tell the first of the chain."""
    hearer = next((agent for agent in goal[0].chain if agent != asked.actor), None)
    return (Claim(asked.actor, hearer, asked.thing, goal[0].place),)


def believing(asked: Acting, goal: Goal) -> Plan:
    """The shortest plan that works; none where there is none."""
    return next(plans(asked, goal), ())


Player = Callable[[Acting, Goal], Plan]
PLAYERS: Mapping[str, Player] = MappingProxyType(
    {"level 0": literal, "level 1": trusting, "optimal": believing}
)
"""Players by name, the shallowest first."""


def _enter(asked: Acting) -> Enter:
    return Enter((asked.actor,), asked.room)


def template(plan: Plan, goal: Goal) -> tuple[str, ...]:
    """A plan without names: what a rule could do that looks at the goal's words alone."""
    place, chain = goal[0].place, goal[0].chain
    return tuple(_template(act, place, chain) for act in plan)


def _template(act: Event, place: str, chain: Chain) -> str:
    match act:
        case Move(_, _, where):
            return "move" if where == place else "move elsewhere"
        case Claim(_, hearer, _, where):
            said = "it" if where == place else "another"
            if hearer is None:
                return f"claim {said} in public"
            at = chain.index(hearer) if hearer in chain else -1
            return f"tell {said} {('the first', 'the second', 'somebody else')[at]}"
    return type(act).__name__.lower()
