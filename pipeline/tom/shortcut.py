"""Shortcut rules as solvers: the scores that a model must beat.

Each rule looks at surface features only: first or last place of the object, most frequent place,
order of exits, wording of the options. None of them follows who believes what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.tom.belief import Beliefs
from pipeline.tom.cues import CUES, Naming, namings
from pipeline.tom.language import PLAIN, Language
from pipeline.tom.observation import CONTAINER, ROOM
from pipeline.tom.parse.text import ParsedStory
from pipeline.tom.question import Question, WhereQuestion, asked_about
from pipeline.tom.scene import scene_starts
from pipeline.tom.solve import read
from pipeline.tom.story import (
    WAITING_ROOM,
    Aside,
    Carry,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Story,
)

_UNAWARE = re.compile(r"does not know|unaware|not involved|does not provide|cannot", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Scene:
    """A part of a story, from one event to before another."""

    events: Story
    start: int
    stop: int


@dataclass(frozen=True)
class Surface:
    """The input of a rule; a dozen rules ask for the same properties."""

    text: str
    story: ParsedStory
    question: Question
    choices: tuple[str, ...]
    world: Beliefs

    @cached_property
    def places(self) -> list[tuple[int, str]]:
        """(moment, place) of each real change."""
        if not isinstance(self.question, WhereQuestion):
            return []
        changes: list[tuple[int, str]] = []
        for seen in self.world.history((), self.question.object, self.question.aspect):
            if seen.value is not None and (not changes or changes[-1][1] != seen.value):
                changes.append((seen.moment, seen.value))
        return changes

    @cached_property
    def namings(self) -> tuple[Naming, ...]:
        return namings(self.story.events, self.question)

    @cached_property
    def candidates(self) -> list[str]:
        """Places of the kind asked for, in order of first mention."""
        aspect = self.question.aspect if isinstance(self.question, WhereQuestion) else CONTAINER
        named: dict[str, None] = {}
        for event in self.story.events:
            match event.action if isinstance(event, Aside) else event:
                case Enter(_, room) | Exit(_, room) | Carry(_, _, room) if aspect == ROOM:
                    named.setdefault(room)
                case Place(_, place) | Move(_, _, place) if aspect == CONTAINER:
                    named.setdefault(place)
        return list(named)

    @cached_property
    def last_scene(self) -> _Scene:
        """The last scene that tells of the object."""
        events = self.story.events
        thing = self.question.object if isinstance(self.question, WhereQuestion) else ""
        starts = tuple(scene_starts(events)) or (0,)
        for start, stop in reversed(list(zip(starts, (*starts[1:], len(events)), strict=True))):
            if any(_tells_of(event, thing) for event in events[start:stop]):
                return _Scene(events, start, stop)
        return _Scene(events, 0, len(events))


Rule = Callable[[Surface], str | None]


def initial(surface: Surface) -> str | None:
    return surface.places[0][1] if surface.places else None


def scene_start(surface: Surface) -> str | None:
    """The object's place when the last scene that tells of it begins."""
    if not isinstance(surface.question, WhereQuestion):
        return None
    scene = surface.last_scene
    return _place_at(surface.places, _first_told(scene, surface.question.object) + 1)


def last(surface: Surface) -> str | None:
    """The object's last place: the truth, taken for everybody's belief."""
    return surface.places[-1][1] if surface.places else None


def first_move(surface: Surface) -> str | None:
    places = surface.places
    return places[min(1, len(places) - 1)][1] if places else None


def most_frequent(surface: Surface) -> str | None:
    """The place that the text names most often; ties go to the first named."""
    return max(surface.candidates, key=surface.text.count, default=None)


def innermost_exit(surface: Surface) -> str | None:
    return _place_at_exit(surface, surface.question.chain[-1:])


def outermost_exit(surface: Surface) -> str | None:
    return _place_at_exit(surface, surface.question.chain[:1])


def earliest_exit(surface: Surface) -> str | None:
    """The object's place when the first agent of the chain left for good.

    The last exit of each agent counts, unless they are there in the end. Only the last scene that
    tells of the object counts (a scene begins when a group enters); agents who take no part in it
    are passed over.
    """
    return _place_at_exit(surface, surface.question.chain)


def first_claim(surface: Surface) -> str | None:
    """The first claimed place, without claims the last place."""
    return _cued(surface, "first claim") or last(surface)


def last_claim(surface: Surface) -> str | None:
    """The last claimed place, without claims the last place."""
    return _cued(surface, "last claim") or last(surface)


def claim_to_innermost(surface: Surface) -> str | None:
    return _cued(surface, "last claim heard by the innermost agent") or earliest_exit(surface)


def claim_to_outermost(surface: Surface) -> str | None:
    return _cued(surface, "last claim heard by the outermost agent") or earliest_exit(surface)


def _cued(surface: Surface, cue: str) -> str | None:
    if not isinstance(surface.question, WhereQuestion):
        return None
    return CUES[cue](surface.namings, surface.question.chain)


def pick_unaware(options: Sequence[str]) -> str | None:
    unaware = [option for option in options if _UNAWARE.search(option)]
    return unaware[0] if len(unaware) == 1 else None


SHORTCUTS: Mapping[str, Rule] = {
    "initial": initial,
    "scene_start": scene_start,
    "last": last,
    "first_move": first_move,
    "most_frequent": most_frequent,
    "innermost_exit": innermost_exit,
    "outermost_exit": outermost_exit,
    "earliest_exit": earliest_exit,
    "first_claim": first_claim,
    "last_claim": last_claim,
    "claim_to_innermost": claim_to_innermost,
    "claim_to_outermost": claim_to_outermost,
}


def read_surface(
    language: Language, story: str, question: str, choices: tuple[str, ...] = ()
) -> Surface:
    """The input of rules; ParseError if story or question cannot be read."""
    asked = language.question(question)
    parsed, world = read(language, story, language.rules[PLAIN], asked_about(asked))
    return Surface(story, parsed, asked, choices, world)


def _place_at_exit(surface: Surface, agents: Sequence[str]) -> str | None:
    """The object's place when the first of the agents left its last scene for good."""
    if not isinstance(surface.question, WhereQuestion):
        return None
    scene = surface.last_scene
    moment = min((_exit_of(agent, scene) for agent in agents), default=scene.stop)
    return _place_at(surface.places, moment)


def _place_at(places: Sequence[tuple[int, str]], moment: int) -> str | None:
    """The place before a moment, or the first place where there is none before it."""
    before = [place for when, place in places if when < moment]
    return before[-1] if before else places[0][1] if places else None


def _tells_of(event: Event, thing: str) -> bool:
    action = event.action if isinstance(event, Aside) else event
    return isinstance(action, Place | Move | Carry) and action.object == thing


def _first_told(scene: _Scene, thing: str) -> int:
    moments = range(scene.start, scene.stop)
    told = (moment for moment in moments if _tells_of(scene.events[moment], thing))
    return next(told, scene.start)


def _exit_of(agent: str, scene: _Scene) -> int:
    """The moment the agent left for good, or the end of the scene."""
    left = scene.stop
    for moment in range(scene.start, scene.stop):
        match scene.events[moment]:
            case Exit(who) if who == agent:
                left = moment
            case Enter(agents, room) if agent in agents and room != WAITING_ROOM:
                left = scene.stop
    return left
