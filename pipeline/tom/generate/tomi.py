"""ToMi-style stories: one agent moves an object, another comes and goes, a third passes through.

The structure is that of the upstream generator (facebookresearch/ToMi, ``tasks.py``): two agents
see the object placed; then one move and one or two changes of place, shuffled; then lines of a
third agent and likes and dislikes, inserted anywhere. Gold answers come from the engine: from a
plain reading, or with upstream's quirk where the settings ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from random import Random

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate import surface
from pipeline.tom.generate.item import (
    CounterfactualPair,
    GeneratedItem,
    GeneratedQuestion,
)
from pipeline.tom.generate.names import NAMES, Names
from pipeline.tom.generate.pair import NoPair, leaving_twins
from pipeline.tom.generate.styles import BENCHMARK, get_style
from pipeline.tom.question import BEGINNING, WhereQuestion
from pipeline.tom.rules import TOMI_PLAIN, Rules
from pipeline.tom.story import Enter, Event, Exit, Move, Place, Present, Remark, Story

TRUE_BELIEF, FALSE_BELIEF, SECOND_ORDER = (
    "true_belief",
    "false_belief",
    "second_order_false_belief",
)
STORY_TYPES = (TRUE_BELIEF, FALSE_BELIEF, SECOND_ORDER)
_ATTEMPTS = 1000
_VERBS = ("likes", "dislikes", "loves", "hates")


@dataclass(frozen=True)
class TomiSettings:
    """What kind of story to make.

    Attributes:
        story_type: One of ``STORY_TYPES``; None to draw as upstream does before its quotas.
        noise: Whether to insert likes and dislikes.
        rules: How gold answers follow from the story.
        names: Pools of names, for the benchmark's own style.
    """

    story_type: str | None = None
    noise: bool = True
    rules: Rules = TOMI_PLAIN
    names: Names = NAMES

    def __post_init__(self) -> None:
        if self.story_type not in (None, *STORY_TYPES):
            raise ValueError(f"story_type is {self.story_type!r}; allowed: {STORY_TYPES}")


@dataclass(slots=True)
class _Cast:
    mover: str
    other: str
    third: str
    room: str
    elsewhere: str
    thing: str
    first: str
    second: str


def generate(settings: TomiSettings, random: Random, style: str = BENCHMARK) -> GeneratedItem:
    """Draw one story with its six questions, in upstream's order."""
    names = _names(settings, style)
    for _ in range(_ATTEMPTS):
        cast = _cast(names, random)
        events, story_type = _story(cast, random, names, settings.noise)
        if settings.story_type in (None, story_type):
            return _item(events, cast, story_type, settings, style)
    raise AssertionError("every type of story has a share of at least one in ten")


def pair(settings: TomiSettings, random: Random, style: str = BENCHMARK) -> CounterfactualPair:
    """Draw a story in which an agent leaves before the move, with the twin who leaves after it.

    Raises:
        NoPair: If the stories of these settings have no such twin.
    """
    names = _names(settings, style)
    for _ in range(_ATTEMPTS):
        cast = _cast(names, random)
        events, story_type = _story(cast, random, names, settings.noise)
        if settings.story_type not in (None, story_type):
            continue
        for twins in leaving_twins(events, settings.rules):
            if twins.witness == cast.other:
                twin_type = TRUE_BELIEF if story_type == FALSE_BELIEF else story_type
                return CounterfactualPair(
                    _item(twins.observed, cast, twin_type, settings, style),
                    _item(twins.hidden, cast, story_type, settings, style),
                    twins.witness,
                    twins.intervention,
                )
    raise NoPair(f"none of {_ATTEMPTS} stories of {settings} has a twin")


def _names(settings: TomiSettings, style: str) -> Names:
    return settings.names if style == BENCHMARK else get_style(style).names


def _cast(names: Names, random: Random) -> _Cast:
    mover, other, third = random.sample(names.agents, 3)
    room, elsewhere = random.sample(names.rooms, 2)
    first, second = random.sample(names.containers, 2)
    return _Cast(mover, other, third, room, elsewhere, random.choice(names.objects), first, second)


def _story(cast: _Cast, random: Random, names: Names, noise: bool) -> tuple[Story, str]:
    events, story_type = _main_events(cast, random, len(names.rooms))
    third: list[Event] = [
        Enter((cast.third,), room := random.choice((cast.room, cast.elsewhere))),
        Exit(cast.third, room),
    ]
    _insert(events, third[: random.randrange(3)], random)
    if noise:
        for _ in range(random.randrange(3)):
            agent = random.choice((cast.mover, cast.other, cast.third))
            liked = random.choice(names.objects)
            remark = Remark(f"{agent} {random.choice(_VERBS)} the {liked}")
            _insert(events, [remark], random)
    return tuple(events), story_type


def _main_events(cast: _Cast, random: Random, rooms: int) -> tuple[list[Event], str]:
    """The events of the two main agents and upstream's name for the kind of story."""
    events: list[Event] = []
    for agent in random.sample((cast.mover, cast.other), 2):
        already = random.randrange(rooms) == 0  # the random room of each agent happens to be this
        events.append(Present(agent, cast.room) if already else Enter((agent,), cast.room))
    events.append(Place(cast.thing, cast.first, cast.room))
    actions = ["move", *repeat("change", random.choice((1, 2)))]
    random.shuffle(actions)
    story_type = FALSE_BELIEF if actions[1] == "move" else TRUE_BELIEF
    inside = True
    for index, action in enumerate(actions):
        if action == "move":
            events.append(Move(cast.mover, cast.thing, cast.second))
        elif inside:
            events.append(Exit(cast.other, cast.room))
            inside = False
        else:
            if index == len(actions) - 1 and random.random() < 0.5:
                events.append(Exit(cast.mover, cast.room))
                story_type = SECOND_ORDER
            room = random.choice((cast.room, cast.elsewhere))
            events.append(Enter((cast.other,), room))
            inside = True
    return events, story_type


def _insert(events: list[Event], lines: Iterable[Event], random: Random) -> None:
    """Insert lines at random positions, keeping their order."""
    position = 0
    for line in lines:
        position = random.randint(position, len(events))
        events.insert(position, line)
        position += 1


def _item(
    events: Story, cast: _Cast, story_type: str, settings: TomiSettings, style: str
) -> GeneratedItem:
    known = beliefs(events, settings.rules)
    questions = tuple(_questions(events, cast, known, style))
    text = render(events) if style == BENCHMARK else surface.render(events, style)
    return GeneratedItem(text, questions, events, style, story_type)


def _questions(
    events: Story, cast: _Cast, known: Beliefs, style: str
) -> Iterable[GeneratedQuestion]:
    mover, other, thing = cast.mover, cast.other, cast.thing
    truth = known.of((), thing)
    entered = next(
        agent for event in events for agent in _arrivals(event) if agent in (mover, other)
    )
    asked = (
        ("memory", WhereQuestion(thing, when=BEGINNING)),
        ("first_order", WhereQuestion(thing, (mover,))),
        ("second_order", WhereQuestion(thing, (mover, other))),
        ("reality", WhereQuestion(thing)),
        ("first_order", WhereQuestion(thing, (other,))),
        ("second_order", WhereQuestion(thing, (other, mover))),
    )
    for kind, question in asked:
        answer = question.answer(known)
        assert answer is not None  # both main agents see the object placed
        if question.chain:
            which = 0 if question.chain[0] == entered else 1
            kind = f"{kind}_{which}_{'no_tom' if answer == truth else 'tom'}"
        text = render_question(question) if style == BENCHMARK else surface.ask(question, style)
        yield GeneratedQuestion(text, answer, question.order, kind, asked=question)


def _arrivals(event: Event) -> tuple[str, ...]:
    match event:
        case Enter(agents):
            return agents
        case Present(agent):
            return (agent,)
    return ()


def render(events: Story) -> str:
    """Write a story in the words of ToMi, numbered lines, noise without full stop."""
    return "\n".join(f"{n} {_sentence(event)}" for n, event in enumerate(events, 1))


def _sentence(event: Event) -> str:
    match event:
        case Enter((agent,), room):
            return f"{agent} entered the {room}."
        case Present(agent, room):
            return f"{agent} is in the {room}."
        case Exit(agent, room):
            return f"{agent} exited the {room}."
        case Place(thing, container, _):
            return f"The {thing} is in the {container}."
        case Move(agent, thing, container):
            return f"{agent} moved the {thing} to the {container}."
        case Remark(text):
            return text
    raise ValueError(f"ToMi has no sentence for {event}")


def render_question(question: WhereQuestion) -> str:
    """Write a question in the words of ToMi."""
    thing = question.object
    match question.chain:
        case (first,):
            return f"Where will {first} look for the {thing}?"
        case (first, second):
            return f"Where does {first} think that {second} searches for the {thing}?"
    if question.when == BEGINNING:
        return f"Where was the {thing} at the beginning?"
    return f"Where is the {thing} really?"
