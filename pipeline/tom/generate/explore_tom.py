"""ExploreToM-style stories: moves, state changes, talk, peeking and distraction.

The actions, the conditions under which they are possible, the 18 story types and the questions are
those of upstream (facebookresearch/ExploreToM, ``belief_tracker.py`` and
``story_structure_searcher.py``). Upstream then searches for stories that a given model fails; here
they are drawn at random. Gold answers come from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate import surface
from pipeline.tom.generate.explore_tom_questions import questions
from pipeline.tom.generate.explore_tom_text import STATES, TOPICS, render
from pipeline.tom.generate.item import CounterfactualPair, GeneratedItem
from pipeline.tom.generate.names import NAMES, Names, plain
from pipeline.tom.generate.pair import NoPair, drawn_twins
from pipeline.tom.generate.styles import BENCHMARK, STYLES
from pipeline.tom.observation import CONTAINER, ROOM, TOPIC
from pipeline.tom.rules import EXPLORE_TOM_PLAIN, Rules
from pipeline.tom.story import (
    Action,
    Aside,
    Carry,
    Change,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Report,
    Story,
    agents_of,
)

_ATTEMPTS, _MOST_ACTIONS = 2000, 15
_ASYMMETRIC = "+asymmetric"
# What may happen beside entering and leaving; the last one must (it makes the type what it is).
_ACTIONS: dict[str, tuple[str, ...]] = {
    "tomi": ("move",),
    "tomi+object-state": ("move", "state"),
    "tomi-object-state": ("state",),
    "tomi+room-changes": ("move", "carry"),
    "tomi+info-exchange": ("move", "report"),
    "fantom-public": ("discuss_public",),
    "fantom-private": ("discuss_private",),
    "allbutfantom": ("move", "carry", "report_any", "report_any"),
    "all": ("move", "carry", "report_any", "discuss_public", "discuss_private"),
}
STORY_TYPES = tuple(name + extra for name in _ACTIONS for extra in ("", _ASYMMETRIC))


@dataclass(frozen=True)
class ExploreTomSettings:
    """Settings of a generated story.

    Attributes:
        story_type: One of ``STORY_TYPES``.
        people: 2 to 4; all are named in the story.
        moves: Moves, state changes and topics brought up, 1 to 4.
        names: Pools of names, for the benchmark's own style.
    """

    story_type: str = "tomi"
    people: int = 3
    moves: int = 3
    rules: Rules = EXPLORE_TOM_PLAIN
    names: Names = NAMES

    def __post_init__(self) -> None:
        if self.story_type not in STORY_TYPES:
            raise ValueError(f"story_type is {self.story_type!r}; allowed: {STORY_TYPES}")

    @property
    def kinds(self) -> tuple[str, ...]:
        return _ACTIONS[self.story_type.removesuffix(_ASYMMETRIC)]

    @property
    def asymmetric(self) -> bool:
        """Somebody peeks or is distracted."""
        return self.story_type.endswith(_ASYMMETRIC)


def generate(settings: ExploreTomSettings, random: Random, style: str = BENCHMARK) -> GeneratedItem:
    return _item(_events(settings, random, style), settings, style)


def pair(
    settings: ExploreTomSettings, random: Random, style: str = BENCHMARK
) -> CounterfactualPair:
    """Draw a story with a twin in which somebody leaves later, is told, or looks on instead."""
    if not settings.asymmetric and not {"move", "discuss_private"} & set(settings.kinds):
        raise NoPair(
            f"stories of type {settings.story_type!r} have no moves to witness, and nothing is "
            "told in private; allowed: those with moves, private talk or asymmetry"
        )
    for _ in range(_ATTEMPTS):
        for twins in drawn_twins(_events(settings, random, style), settings.rules, random):
            if not all(_sincere(events, settings) for events in (twins.observed, twins.hidden)):
                continue
            observed = _item(twins.observed, settings, style)
            hidden = _item(twins.hidden, settings, style)
            shared = {q.text for q in observed.questions} & {q.text for q in hidden.questions}
            found = CounterfactualPair(
                _only(observed, shared), _only(hidden, shared), twins.witness, twins.intervention
            )
            if found.differing:
                return found
    raise NoPair(f"none of {_ATTEMPTS} stories of {settings} has a twin")


def _sincere(events: Story, settings: ExploreTomSettings) -> bool:
    """Everybody tells their own beliefs, as upstream's speakers do."""
    return all(
        beliefs(events[:moment], settings.rules).of((told.speaker,), told.object, told.aspect)
        == told.place
        for moment, event in enumerate(events)
        if isinstance(told := event.action if isinstance(event, Aside) else event, Report)
    )


def _only(item: GeneratedItem, texts: set[str]) -> GeneratedItem:
    """Keep the questions with these texts, in one order."""
    kept = sorted((q for q in item.questions if q.text in texts), key=lambda q: q.text)
    return GeneratedItem(item.story, tuple(kept), item.events, item.style, item.story_type)


def _item(events: Story, settings: ExploreTomSettings, style: str) -> GeneratedItem:
    text = render(events) if style == BENCHMARK else surface.render(events, style)
    known = beliefs(events, settings.rules)
    asked = tuple(questions(events, known, style))
    return GeneratedItem(text, asked, events, style, settings.story_type)


def _events(settings: ExploreTomSettings, random: Random, style: str) -> Story:
    names = settings.names if style == BENCHMARK else STYLES[style].names
    for _ in range(_ATTEMPTS):
        story = _Draft.draw(settings, names, random)
        story.fill()
        if story.complete():
            return tuple(story.events)
    raise AssertionError("most drafts can be completed")


@dataclass(slots=True)
class _Draft:
    """A story under construction, with the world as it is so far."""

    settings: ExploreTomSettings
    random: Random
    people: list[str]
    rooms: list[str]
    thing: str
    containers: list[str]
    topics: list[str]
    states: list[str]
    events: list[Event] = field(default_factory=list)
    room_of: dict[str, str] = field(default_factory=dict)
    thing_room: str | None = None
    container: str | None = None
    used: set[str] = field(default_factory=set)  # kinds of action so far
    moves: int = 0

    @classmethod
    def draw(cls, settings: ExploreTomSettings, names: Names, random: Random) -> _Draft:
        two_rooms = any(kind in settings.kinds for kind in ("carry", "report_any"))
        return cls(
            settings,
            random,
            random.sample(names.agents, settings.people),
            [plain(room) for room in random.sample(names.rooms, 2 if two_rooms else 1)],
            plain(random.choice(names.objects)),
            [plain(container) for container in random.sample(names.containers, 4)],
            random.sample(TOPICS, 4),
            random.sample(sorted(STATES), 4),
        )

    def fill(self) -> None:
        """Add actions until the story has as many moves as the settings ask for."""
        while self.moves < self.settings.moves and len(self.events) < _MOST_ACTIONS:
            walking = not self.room_of or self.random.random() < 0.5
            kind = "walk" if walking else self.random.choice(self.settings.kinds)
            action = self._propose(kind)
            if action is None:
                continue
            self.used.add(kind)
            self.moves += kind not in ("walk", "report", "report_any")
            self.events.append(self._with_aside(action) if kind != "walk" else action)
            self._apply(action)

    def complete(self) -> bool:
        """The story meets its type and settings."""
        asides = sum(isinstance(event, Aside) for event in self.events)
        return (
            self.moves == self.settings.moves
            and self.settings.kinds[-1] in self.used
            and asides == self.settings.asymmetric
            and set(agents_of(tuple(self.events))) == set(self.people)
        )

    def _propose(self, kind: str) -> Action | None:
        actor = self.random.choice(self.people)
        if kind == "walk":
            return self._walk(actor)
        if kind == "discuss_private":
            return self._discuss(actor, self.random.choice(self.people))
        if kind == "discuss_public":
            return self._discuss(actor, None)
        if kind in ("report", "report_any"):
            return self._report(actor, kind)
        room = self.room_of.get(actor)
        if room is None or self.thing_room not in (None, room):
            return None
        if kind == "move":
            free = [container for container in self.containers if container != self.container]
            return Move(actor, self.thing, self.random.choice(free))
        if kind == "state":
            state = self.states.pop().format(thing=self.thing) if self.states else None
            return Change(actor, self.thing, state) if state else None
        elsewhere = [other for other in self.rooms if other != room]
        if self.thing_room is None or not elsewhere:
            return None
        return Carry(actor, self.thing, elsewhere[0], self.container)

    def _walk(self, actor: str) -> Action:
        here = self.room_of.get(actor)
        there = [room for room in self.rooms if room != here]
        if here and (not there or self.random.random() < 0.5):
            return Exit(actor, here)
        return Enter((actor,), self.random.choice(there))

    def _discuss(self, speaker: str, listener: str | None) -> Action | None:
        topic, known = self.random.choice(self.topics), self._known()
        if listener:
            heard = speaker == listener or known.of((speaker, listener), topic, TOPIC)
            return None if heard else Discuss(speaker, listener, topic)
        room = self._together(speaker)
        new = any(not known.of((hearer,), topic, TOPIC) for hearer in room)
        return Discuss(speaker, None, topic) if len(room) > 1 and new else None

    def _report(self, speaker: str, kind: str) -> Action | None:
        """A report of the speaker's belief to somebody who, as the speaker thinks, does not share
        it.
        """
        aspect = CONTAINER if kind == "report" else self.random.choice((CONTAINER, ROOM))
        known = self._known()
        place = known.of((speaker,), self.thing, aspect)
        if place is None:
            return None
        if self.random.random() < 0.5:
            listener = self.random.choice(self.people)
            told = known.of((speaker, listener), self.thing, aspect) == place
            said = Report(speaker, listener, self.thing, aspect, place)
            return None if listener == speaker or told else said
        room = self._together(speaker)
        new = any(known.of((speaker, hearer), self.thing, aspect) != place for hearer in room)
        return Report(speaker, None, self.thing, aspect, place) if len(room) > 1 and new else None

    def _together(self, speaker: str) -> list[str]:
        room = self.room_of.get(speaker)
        return [other for other in self.people if room and self.room_of.get(other) == room]

    def _known(self) -> Beliefs:
        return beliefs(tuple(self.events), self.settings.rules)

    def _with_aside(self, action: Action) -> Event:
        """Let somebody peek or be distracted, once in a story of an asymmetric type."""
        done = any(isinstance(event, Aside) for event in self.events)
        if not self.settings.asymmetric or done or isinstance(action, Carry):
            return action
        actor, witnesses = self._witnesses(action)
        inside = [person for person in witnesses if person != actor]
        outside = [person for person in self.people if person not in witnesses]
        peeking = (self.random.choice(outside),) if outside and self.random.random() < 0.6 else ()
        distracted = (self.random.choice(inside),) if inside and self.random.random() < 0.6 else ()
        return Aside(action, peeking, distracted) if peeking or distracted else action

    def _witnesses(self, action: Action) -> tuple[str, list[str]]:
        match action:
            case Discuss(speaker, str(listener)) | Report(speaker, str(listener)):
                return speaker, [speaker, listener]
            case Discuss(actor) | Report(actor) | Move(actor) | Change(actor):
                return actor, self._together(actor)
        raise ValueError(f"nobody can look on at {action} in secret")

    def _apply(self, action: Action) -> None:
        match action:
            case Enter((agent, *_), room):
                self.room_of[agent] = room
            case Exit(agent):
                del self.room_of[agent]
            case Move(agent, _, container):
                self.container, self.thing_room = container, self.room_of[agent]
            case Change(agent):
                self.thing_room = self.room_of[agent]
            case Carry(agent, _, room):
                self.container, self.thing_room, self.room_of[agent] = None, room, room
