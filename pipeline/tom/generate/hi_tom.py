"""Hi-ToM-style stories: chapters of agents entering, moving an object, leaving, and claiming.

The structure is that of the upstream generator (ying-hui-he/Hi-ToM_dataset, ``generate_tasks.py``):
every agent of a chapter either moves the chapter's object or stays, then leaves; a chapter may end
with claims; distractors may stand before any sentence. Only the first chapter's object is asked
about, and all agents take part in it, so every belief chain is defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from pipeline.tom.generate import hi_tom_free
from pipeline.tom.generate.names import NAMES, Names
from pipeline.tom.parse.text import listed
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import (
    WAITING_ROOM,
    Claim,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Remark,
    Stay,
    Story,
)

ROOMS_PER_STORY = 3
CONTAINERS_PER_ROOM = 5
Structure = Literal["upstream", "free"]
# Share of the agents in each chapter, and whether it may end with claims (upstream's chapter plan
# for five agents: 5 | 5, 3 | 5, 3, 4).
_CHAPTERS: dict[int, tuple[tuple[int, bool], ...]] = {
    1: ((5, True),),
    2: ((5, False), (3, True)),
    3: ((5, True), (3, False), (4, True)),
}


@dataclass(frozen=True)
class HiTomSettings:
    """Settings of a generated story.

    Attributes:
        agents: Agents in the story, 2 to 5 (upstream: 5). The longest question chain has one less,
            or all of them where there are fewer than five.
        chapters: 1 to 3; 1 of a free structure.
        tell: Chapters may end with claims that may be lies.
        noise: Probability of a distractor before each sentence (upstream's published run: 0.1).
        structure: ``upstream`` follows the chapters of the upstream generator, ``free`` is one
            scene whose events come in any order (``pipeline.tom.generate.hi_tom_free``).
    """

    agents: int = 5
    chapters: int = 1
    tell: bool = False
    noise: float = 0.1
    names: Names = NAMES
    structure: Structure = "upstream"


@dataclass(frozen=True, slots=True)
class HiTomStory:
    """A story with one question of each belief order and the containers to choose from."""

    events: Story
    questions: tuple[WhereQuestion, ...]
    choices: tuple[str, ...]


def generate(settings: HiTomSettings, random: Random) -> HiTomStory:
    """Draw a story and one question for each belief order from 0 upwards."""
    plan = _Plan.draw(settings, random)
    if settings.structure == "free":
        scene = plan.scene(random)
        events, subject = hi_tom_free.tell(scene, settings.tell, random), scene.thing
    else:
        events, subject = plan.chapters(settings, random)
    asked = random.sample(plan.agents, min(4, len(plan.agents)))  # order n asks the last n of them
    questions = tuple(
        WhereQuestion(subject, tuple(asked[len(asked) - order :]))
        for order in range(len(asked) + 1)
    )
    story = tuple(_with_noise(events, plan, settings.noise, random))
    return HiTomStory(story, questions, tuple(plan.containers))


def draw_scene(settings: HiTomSettings, random: Random) -> tuple[hi_tom_free.FreeScene, list[str]]:
    """A scene of free structure, and the containers to choose from."""
    plan = _Plan.draw(settings, random)
    return plan.scene(random), plan.containers


@dataclass(slots=True)
class _Plan:
    """The names drawn for one story, and where its objects are."""

    agents: list[str]
    rooms: list[str]
    objects: list[str]
    containers: list[str]
    place: dict[str, str]

    @classmethod
    def draw(cls, settings: HiTomSettings, random: Random) -> _Plan:
        names = settings.names
        rooms = random.sample(names.rooms, ROOMS_PER_STORY)
        objects = random.sample(names.objects, 2 * ROOMS_PER_STORY)
        containers = random.sample(names.containers, CONTAINERS_PER_ROOM * ROOMS_PER_STORY)
        place = {
            thing: containers[CONTAINERS_PER_ROOM * (index // 2) + index % 2]
            for index, thing in enumerate(objects)
        }
        return cls(random.sample(names.agents, settings.agents), rooms, objects, containers, place)

    def scene(self, random: Random) -> hi_tom_free.FreeScene:
        """Cast and place of a scene of free structure that all agents take part in."""
        room_index, thing = self._room_and_object(random)
        return hi_tom_free.FreeScene(
            tuple(self.agents),
            self.rooms[room_index],
            thing,
            self.place[thing],
            tuple(self._containers(room_index)),
        )

    def chapters(self, settings: HiTomSettings, random: Random) -> tuple[list[Event], str]:
        """The chapters of the upstream generator, and the object of the first."""
        events: list[Event] = []
        subject = ""
        for share, may_tell in _CHAPTERS[settings.chapters]:
            participants = max(2, round(settings.agents * share / 5))
            chapter, thing = self.chapter(participants, settings.tell and may_tell, random)
            subject = subject or thing
            events += chapter
        return events, subject

    def _room_and_object(self, random: Random) -> tuple[int, str]:
        room_index = random.randrange(ROOMS_PER_STORY)
        return room_index, self.objects[2 * room_index + random.randrange(2)]

    def _containers(self, room_index: int) -> list[str]:
        start = CONTAINERS_PER_ROOM * room_index
        return self.containers[start : start + CONTAINERS_PER_ROOM]

    def chapter(self, participants: int, tell: bool, random: Random) -> tuple[list[Event], str]:
        room_index, thing = self._room_and_object(random)
        room = self.rooms[room_index]
        order = random.sample(self.agents, len(self.agents))
        group, outsiders = order[:participants], order[participants:]
        local = self._containers(room_index)
        here = self.place[thing]
        destinations = random.sample([c for c in local if c != here], CONTAINERS_PER_ROOM - 1)
        destinations.append(here)  # a fifth mover has nowhere else to put it
        events: list[Event] = [Enter(tuple(group), room), Place(thing, here, room)]
        for agent, destination in zip(group, destinations, strict=False):
            if random.random() < 0.5:
                events.append(Move(agent, thing, destination))
                self.place[thing] = destination
            else:
                events.append(Stay(agent, room))
            events.append(Exit(agent, room))
        events.append(Enter(tuple(group), WAITING_ROOM))
        if tell:
            lies = random.sample(local, 2)
            events += _claims(group, outsiders, thing, lies, self.place[thing], random)
        return events, thing


# The forms of claims by number of participants: (needs outsiders, statements). A statement is
# (speaker, listener, content): positions in the exit order from 1, "all" for a public claim, "out"
# for a random outsider; content 0 and 1 are the two drawn containers, "true" is the real place.
_Statement = tuple[int, int | str, int | str]
_FORMS: dict[int, tuple[tuple[bool, tuple[_Statement, ...]], ...]] = {
    2: (
        (False, ((1, "all", 0), (2, 1, 1))),
        (False, ((2, "all", 0), (1, 2, 1))),
        (True, ((1, "out", 0),)),
    ),
    3: (
        (False, ((2, "all", 0), (3, 2, 1))),
        (False, ((3, "all", 0), (1, 3, 1))),
        (True, ((1, "all", 0), (3, "out", "true"))),
        (True, ((2, 3, 0), (3, "out", "true"))),
    ),
    4: (
        (False, ((2, "all", 0), (4, 3, 1))),
        (False, ((3, "all", 0), (1, 4, 1))),
        (True, ((1, "all", 0), (4, "out", "true"))),
        (True, ((2, 3, 0), (4, "out", "true"))),
    ),
    5: (
        (False, ((3, "all", 0), (5, 3, 1))),
        (False, ((4, "all", 0), (5, 1, "true"))),
        (False, ((3, 1, 0),)),
    ),
}


def _claims(
    group: Sequence[str],
    outsiders: Sequence[str],
    thing: str,
    drawn: Sequence[str],
    truth: str,
    random: Random,
) -> list[Event]:
    forms = [form for needs, form in _FORMS[len(group)] if outsiders or not needs]
    events: list[Event] = []
    for speaker, listener, content in random.choice(forms):
        heard_by = (
            None
            if listener == "all"
            else random.choice(outsiders)
            if listener == "out"
            else group[int(listener) - 1]
        )
        container = truth if content == "true" else drawn[int(content)]
        events.append(Claim(group[speaker - 1], heard_by, thing, container))
    return events


_ANIMALS = ("cat", "dog", "monkey", "mouse")
_ITEMS = ("watch", "gloves", "phone")


def _with_noise(events: list[Event], plan: _Plan, noise: float, random: Random) -> list[Event]:
    if not noise:
        return events
    noisy: list[Event] = []
    for event in events:
        if random.random() < noise:
            noisy.append(Remark(_distractor(plan, random)))
        noisy.append(event)
    return noisy


def _distractor(plan: _Plan, random: Random) -> str:
    agent = random.choice(plan.agents)
    match random.randrange(4):
        case 0:
            return f"{agent} saw a {random.choice(_ANIMALS)}."
        case 1:
            return f"{agent} lost his {random.choice(_ITEMS)}."
        case 2:
            return f"{agent} likes the {random.choice(plan.containers)}."
        case _:
            return f"{agent} dislikes the {random.choice(plan.objects)}."


def render(story: Story) -> str:
    return "\n".join(_sentence(event) for event in story)


def _sentence(event: Event) -> str:
    match event:
        case Enter(agents, room):
            return f"{listed(agents)} entered the {room}."
        case Exit(agent, room):
            return f"{agent} exited the {room}."
        case Place(thing, container, _):
            return f"The {thing} is in the {container}."
        case Move(agent, thing, container):
            return f"{agent} moved the {thing} to the {container}."
        case Stay(agent, room):
            return f"{agent} made no movements and stayed in the {room} for 1 minute."
        case Claim(speaker, None, thing, container):
            return f"{speaker} publicly claimed that {thing} is in the {container} now."
        case Claim(speaker, listener, thing, container):
            return (
                f"{speaker} privately told {listener} that the {thing} is in the {container} now."
            )
        case Remark(text):
            return text
    raise ValueError(f"Hi-ToM has no sentence for {event}")


def render_question(question: WhereQuestion) -> str:
    if not question.chain:
        return f"Where is the {question.object} really?"
    first, *others = question.chain
    if not others:
        return f"Where does {first} really think the {question.object} is?"
    middle = " thinks ".join(others)
    return f"Where does {first} think {middle} thinks the {question.object} is?"
