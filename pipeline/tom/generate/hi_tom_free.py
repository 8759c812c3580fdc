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

from pipeline.tom.story import Claim, Enter, Event, Exit, Move, Place

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
    events: list[Event] = [
        Enter(scene.agents, scene.room),
        Place(scene.thing, scene.container, scene.room),
    ]
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
