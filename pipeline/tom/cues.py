"""Mentions of the object's place in a story, and surface rules that pick one.

A *naming* is a sentence that puts the object asked about somewhere: it is shown there, moved there
or claimed to be there. A cue picks one of them by kind, by order and by who spoke, listened or
moved relative to the agents asked about. No cue follows who was present when something happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.tom.observation import CONTAINER, Chain
from pipeline.tom.question import Question, WhereQuestion
from pipeline.tom.story import Aside, Carry, Claim, Move, Place, Report, Story

Kind = Literal["shown", "moved", "claimed"]


@dataclass(frozen=True, slots=True)
class Naming:
    """A sentence that puts the object asked about somewhere.

    Attributes:
        moment: Index of the event.
        by: The mover or speaker; None where the narrator tells it.
        to: The hearer of a private claim; None where everybody hears it.
    """

    moment: int
    kind: Kind
    place: str
    by: str | None = None
    to: str | None = None

    def is_heard_by(self, agent: str) -> bool:
        """The agent hears it as a claim of somebody else."""
        return self.kind == "claimed" and self.by != agent and self.to in (None, agent)


def namings(events: Story, question: Question) -> tuple[Naming, ...]:
    """Mentions of the object's place, in story order."""
    if not isinstance(question, WhereQuestion):
        return ()
    found = (_naming(moment, event, question) for moment, event in enumerate(events))
    return tuple(each for each in found if each is not None)


def _naming(moment: int, event: object, question: WhereQuestion) -> Naming | None:
    action = event.action if isinstance(event, Aside) else event
    if getattr(action, "object", None) != question.object:
        return None
    container = question.aspect == CONTAINER
    match action:
        case Place(_, place, room):
            return Naming(moment, "shown", place if container else room)
        case Move(agent, _, place) if container:
            return Naming(moment, "moved", place, agent)
        case Carry(agent, _, room) if not container:
            return Naming(moment, "moved", room, agent)
        case Claim(speaker, listener, _, place) if container:
            return Naming(moment, "claimed", place, speaker, listener)
        case Report(speaker, listener, _, aspect, place) if aspect == question.aspect:
            return Naming(moment, "claimed", place, speaker, listener)
    return None


Cue = Callable[[Sequence[Naming], Chain], str | None]
"""From the namings, in order, and the chain asked about to a place."""


def _first(wanted: Callable[[Naming, Chain], bool]) -> Cue:
    return lambda named, chain: next((n.place for n in named if wanted(n, chain)), None)


def _last(wanted: Callable[[Naming, Chain], bool]) -> Cue:
    return lambda named, chain: next((n.place for n in reversed(named) if wanted(n, chain)), None)


def _told_innermost(naming: Naming, chain: Chain) -> bool:
    return bool(chain) and naming.is_heard_by(chain[-1])


def _told_outermost(naming: Naming, chain: Chain) -> bool:
    return bool(chain) and naming.is_heard_by(chain[0])


_WANTED: Mapping[str, Callable[[Naming, Chain], bool]] = {
    "claim": lambda naming, _: naming.kind == "claimed",
    "public claim": lambda naming, _: naming.kind == "claimed" and naming.to is None,
    "private claim": lambda naming, _: naming.to is not None,
    "claim heard by the innermost agent": _told_innermost,
    "claim heard by the outermost agent": _told_outermost,
    "claim heard by all agents asked about": lambda naming, chain: (
        bool(chain) and all(naming.is_heard_by(agent) for agent in chain)
    ),
    "claim of the innermost agent": lambda naming, chain: (
        naming.kind == "claimed" and naming.by in chain[-1:]
    ),
    "claim of the outermost agent": lambda naming, chain: (
        naming.kind == "claimed" and naming.by in chain[:1]
    ),
    "claim of an agent not asked about": lambda naming, chain: (
        naming.kind == "claimed" and naming.by not in chain
    ),
    "claim from the outermost to the innermost agent": lambda naming, chain: (
        len(chain) > 1 and naming.by == chain[0] and naming.is_heard_by(chain[-1])
    ),
    "move": lambda naming, _: naming.kind == "moved",
    "move of the innermost agent": lambda naming, chain: (
        naming.kind == "moved" and naming.by in chain[-1:]
    ),
    "move of the outermost agent": lambda naming, chain: (
        naming.kind == "moved" and naming.by in chain[:1]
    ),
    "move of an agent not asked about": lambda naming, chain: (
        naming.kind == "moved" and naming.by not in chain
    ),
    "place": lambda *_: True,
}


def before_last_move(named: Sequence[Naming], _: Chain) -> str | None:
    """The place before the last real move."""
    real = [naming.place for naming in named if naming.kind != "claimed"]
    return real[-2] if len(real) > 1 else None


CUES: Mapping[str, Cue] = {
    f"{which} {what}": pick(wanted)
    for what, wanted in _WANTED.items()
    for which, pick in (("first", _first), ("last", _last))
} | {"place before the last move": before_last_move}
"""Every cue by its name in tables and verdicts. Each is defined on some stories only."""
