"""One scene of Hi-ToM without its fixed course: agents act, leave and come back in any order.

The upstream generator lets every agent act once and leave for good, one after the other. A story of
one chapter then has eight courses for three agents, and the place at the earliest exit is the right
answer to every question without a claim. Here the same kinds of events come in any order, so that
courses are counted in thousands and no rule that looks at one exit is right throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pipeline.tom.story import Claim, Enter, Event, Exit, Move, Place, Story

_STEPS = (4, 5, 6, 7)
_CLAIMS = (0, 1, 2, 2)
_LEAVES, _COMES_BACK = 0.5, 0.4  # chances; otherwise somebody in the room moves the object


@dataclass(frozen=True, slots=True)
class FreeScene:
    """Cast and place of a scene; ``container`` is where ``thing`` is at first."""

    agents: tuple[str, ...]
    room: str
    thing: str
    container: str
    containers: tuple[str, ...]


def tell(scene: FreeScene, claims: bool, random: Random) -> list[Event]:
    """Draw the events of a scene; ``claims`` allows true and false claims at its end."""
    events: list[Event] = [*opening(scene)]
    inside, here = list(scene.agents), scene.container
    outside: list[str] = []
    for _ in range(random.choice(_STEPS)):
        moved = isinstance(events[-1], Move)  # twice in a row tells no more than once
        if outside and random.random() < _COMES_BACK * len(outside) / len(scene.agents):
            inside.append(outside.pop(random.randrange(len(outside))))
            events.append(Enter((inside[-1],), scene.room))
        elif inside and (moved or random.random() < _LEAVES):
            outside.append(inside.pop(random.randrange(len(inside))))
            events.append(Exit(outside[-1], scene.room))
        elif inside:
            here = random.choice([c for c in scene.containers if c != here])
            events.append(Move(random.choice(inside), scene.thing, here))
    if claims:
        events += _said(scene, outside, random)
    return events


def opening(scene: FreeScene) -> Story:
    """How every scene begins."""
    return (
        Enter(scene.agents, scene.room),
        Place(scene.thing, scene.container, scene.room),
    )


def following(scene: FreeScene, events: Story, most_claims: int) -> list[list[Event]]:
    """All events that may come next, by kind: as :func:`tell` draws them, with more claims."""
    inside, here = set(scene.agents), scene.container
    for event in events:
        match event:
            case Enter(agents, _):
                inside |= set(agents)
            case Exit(agent, _):
                inside.remove(agent)
            case Move(_, _, container):
                here = container
    present = [agent for agent in scene.agents if agent in inside]
    outside = [agent for agent in scene.agents if agent not in inside]
    claims = sum(isinstance(event, Claim) for event in events)
    moved = isinstance(events[-1], Move)
    elsewhere = [container for container in scene.containers if container != here]
    acts: list[list[Event]] = [
        [Enter((agent,), scene.room) for agent in outside],
        [Exit(agent, scene.room) for agent in present],
        [] if moved else [Move(a, scene.thing, c) for a in present for c in elsewhere],
    ]
    said: list[Event] = [
        Claim(speaker, listener, scene.thing, container)
        for speaker in outside
        for listener in (None, *(agent for agent in scene.agents if agent != speaker))
        for container in scene.containers
    ]
    told = len(events) - len(opening(scene)) - claims
    kinds = [*([] if claims or told >= max(_STEPS) else acts), said if claims < most_claims else []]
    return [kind for kind in kinds if kind]


def _said(scene: FreeScene, outside: Sequence[str], random: Random) -> Sequence[Event]:
    """Claims, by somebody who has left if anybody has.

    So nobody outside hears a claim from inside: Hi-ToM does not say whether they believe it
    (``trust_of_those_inside`` in ``pipeline.tom.rules``).
    """
    said: list[Event] = []
    for _ in range(random.choice(_CLAIMS)):
        speaker = random.choice(outside or scene.agents)
        listener = random.choice([agent for agent in scene.agents if agent != speaker])
        heard_by = None if random.random() < 0.5 else listener
        said.append(Claim(speaker, heard_by, scene.thing, random.choice(scene.containers)))
    return said
