"""What holds for every story: parsing inverts telling, and a naive simulator agrees.

The simulator keeps a full table of beliefs for every chain up to a depth and updates it event by
event, the way the upstream generators do; the engine computes the asked chain only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tom.belief import beliefs
from pipeline.tom.generate import explore_tom, surface
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.item import GeneratedItem
from pipeline.tom.generate.names import NAMES, Names
from pipeline.tom.generate.styles import STYLE_NAMES, STYLES
from pipeline.tom.language import get_language
from pipeline.tom.observation import ROOM, TOPIC, Chain
from pipeline.tom.parse.text import ParseError, names_in
from pipeline.tom.rules import EXPLORE_TOM, HI_TOM, Rules
from pipeline.tom.solve import solve
from pipeline.tom.story import (
    WAITING_ROOM,
    Aside,
    Carry,
    Change,
    Claim,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Remark,
    Report,
    Story,
    agents_of,
)
from tests.tom.drawn import generated

quick = settings(derandomize=True, deadline=None, database=None, max_examples=250)

AGENTS = ("Ann", "Bob", "Cleo", "Dan")
ROOMS = ("hall", "attic")
THINGS = ("hat", "cup")
CONTAINERS = ("box", "jar", "tin")
SEEDS = st.integers(0, 10_000)


def chains(depth: int) -> Iterator[Chain]:
    for length in range(depth + 1):
        yield from permutations(AGENTS, length)


# A naive Hi-ToM simulator


def simulate_hi_tom(story: Story) -> dict[tuple[Chain, str], str]:
    """Update a table over all chains of up to four agents (upstream's ``world.py``)."""
    table: dict[tuple[Chain, str], str] = {}
    where: dict[str, str] = {}
    things: dict[str, tuple[str, str]] = {}
    hall: str | None = None  # the room of the present scene
    met: set[str] = set()
    gone: dict[str, int] = {}  # when those who took part left
    clock = count()

    def see(group: list[str], thing: str) -> None:
        for chain in chains(4):
            if all(agent in group for agent in chain):
                table[chain, thing] = things[thing][0]

    def inside(room: str) -> list[str]:
        return [agent for agent in AGENTS if where.get(agent) == room]

    for event in story:
        match event:
            case Enter(agents, room):
                empty = not inside(room)
                for agent in agents:
                    if hall is not None and where.get(agent) == hall != room:
                        gone[agent] = next(clock)
                    where[agent] = room
                if room != WAITING_ROOM:
                    if hall is None or (len(agents) > 1 and (room != hall or empty)):
                        hall, met, gone = room, set(), {}
                    if room == hall:
                        met |= set(inside(room))
                        gone = {agent: when for agent, when in gone.items() if agent not in agents}
                    for thing, (_, place) in things.items():
                        if place == room:
                            see(inside(room), thing)
            case Exit(agent, _):
                if where.pop(agent, None) == hall:
                    gone[agent] = next(clock)
            case Place(thing, container, room):
                things[thing] = (container, room)
                see(inside(room), thing)
            case Move(agent, thing, container):
                things[thing] = (container, where[agent])
                see(inside(where[agent]), thing)
            case Claim(speaker, listener, thing, container):
                for hearer in AGENTS if listener is None else (listener,):
                    if hearer == speaker:
                        continue
                    table[(speaker, hearer), thing] = container
                    outside = hearer not in met
                    stayed = hearer in gone and speaker in met and speaker not in gone
                    gone_first = stayed or gone.get(hearer, 99) < gone.get(speaker, -1)
                    if outside or gone_first:
                        table[(hearer,), thing] = container
                        table[(hearer, speaker), thing] = container
    return table


@st.composite
def hi_tom_stories(draw: st.DrawFn) -> Story:
    """Draw scenes of any shape: agents come, see, move, leave, and say true and false things."""
    events: list[Event] = [Enter(AGENTS, "hall"), Exit(AGENTS[0], "hall")]
    where: dict[str, str] = dict.fromkeys(AGENTS[1:], "hall")
    for _ in range(draw(st.integers(1, 14))):
        agent, other = draw(st.permutations(AGENTS))[:2]
        thing, container = draw(st.sampled_from(THINGS)), draw(st.sampled_from(CONTAINERS))
        room = draw(st.sampled_from((*ROOMS, WAITING_ROOM)))
        match draw(st.integers(0, 5)):
            case 0:
                group = tuple(dict.fromkeys((agent, other)))
                events.append(Enter(group, room))
                where.update(dict.fromkeys(group, room))
            case 1 if agent in where:
                events.append(Exit(agent, where.pop(agent)))
            case 2 if room != WAITING_ROOM:
                events.append(Place(thing, container, room))
            case 3 if where.get(agent) not in (None, WAITING_ROOM):
                events.append(Move(agent, thing, container))
            case 4:
                events.append(Claim(agent, None, thing, container))
            case 5:
                events.append(Claim(agent, other, thing, container))
    return tuple(events)


@quick
@given(hi_tom_stories())
def test_the_engine_agrees_with_a_naive_hi_tom_simulator(story: Story) -> None:
    table, known = simulate_hi_tom(story), beliefs(story, HI_TOM)
    for thing in THINGS:
        for chain in chains(4):
            assert known.of(chain, thing) == table.get((chain, thing)), (chain, thing)


# A naive ExploreToM simulator


def simulate_explore_tom(story: Story) -> dict[tuple[Chain, str, str], str | None]:
    """Update world, first-order and second-order tables (``belief_tracker.py`` upstream)."""
    table: dict[tuple[Chain, str, str], str | None] = {}
    where: dict[str, str] = {}
    place: dict[str, str] = {}
    boxed: set[str] = set()
    peeking: set[str] = set()
    distracted: set[str] = set()

    def effect(group: set[str], thing: str, aspect: str, value: str | None, real: bool) -> None:
        if real:
            table[(), thing, aspect] = value
        for one in (group | peeking) - distracted:
            table[(one,), thing, aspect] = value
            for other in group:
                table[(one, other), thing, aspect] = value

    def inside(room: str) -> set[str]:
        return {agent for agent, its in where.items() if its == room}

    def enter(agent: str, room: str) -> None:
        where[agent] = room
        for thing, its in place.items():
            if its == room and thing not in boxed:
                effect(inside(room), thing, ROOM, room, real=True)
            elif its == room:
                known = {
                    aspect for chain, what, aspect in table if (chain, what) == ((agent,), thing)
                }
                if known and "container" not in known:  # knew it in the open, and does not see it
                    table[(agent,), thing, ROOM] = None
                    for other in inside(room):
                        table[(agent, other), thing, ROOM] = None
                        table[(other, agent), thing, ROOM] = None

    for told in story:
        event = told.action if isinstance(told, Aside) else told
        peeking = set(told.peeking) if isinstance(told, Aside) else set()
        distracted = set(told.distracted) if isinstance(told, Aside) else set()
        match event:
            case Enter((agent,), room):
                enter(agent, room)
            case Exit(agent, _):
                del where[agent]
            case Move(agent, thing, container):
                room = where[agent]
                boxed.add(thing)
                place[thing] = place[container] = room
                table[(), container, ROOM] = room
                for aspect, value in (("container", container), (ROOM, room)):
                    effect(inside(room), thing, aspect, value, real=True)
                    for one in inside(room):  # upstream's second pass, over the distracted as well
                        for other in inside(room):
                            table[(one, other), thing, aspect] = value
            case Carry(agent, thing, room):
                behind = inside(where[agent])
                if table.get(((), thing, "container")) is not None:
                    effect(behind, thing, "container", None, real=True)
                effect(behind, thing, ROOM, None, real=True)
                del place[thing]
                enter(agent, room)
                place[thing] = room
                effect(inside(room), thing, ROOM, room, real=True)
            case Discuss(speaker, listener, topic):
                group = {speaker, listener} if listener else inside(where[speaker])
                effect(group, topic, TOPIC, topic, real=False)
            case Report(speaker, listener, thing, aspect, said):
                group = {speaker, listener} if listener else inside(where[speaker])
                effect(group, thing, aspect, said, real=False)
    return table


STORY_TYPES = [kind for kind in explore_tom.STORY_TYPES if "state" not in kind]


@quick
@given(SEEDS, st.sampled_from(STORY_TYPES), st.integers(2, 4))
def test_the_engine_agrees_with_a_naive_explore_tom_simulator(
    seed: int, story_type: str, people: int
) -> None:
    names = Names(AGENTS, THINGS, ROOMS, NAMES.containers)
    chosen = ExploreTomSettings(story_type, people, moves=4, rules=EXPLORE_TOM, names=names)
    story = explore_tom.generate(chosen, Random(seed)).events
    table, known = simulate_explore_tom(story), beliefs(story, EXPLORE_TOM)
    asked = {(thing, aspect) for _, thing, aspect in table}
    for thing, aspect in asked:
        for chain in chains(2):
            if len(chain) < 2 or chain[0] != chain[1]:
                expected = table.get((chain, thing, aspect))
                assert known.of(chain, thing, aspect) == expected, (chain, thing, aspect)


# Telling and parsing


BENCHMARKS = pytest.mark.parametrize("benchmark", ["hi_tom", "explore_tom"])


@BENCHMARKS
@quick
@given(seed=SEEDS)
def test_stories_parse_back_to_the_same_events(benchmark: str, seed: int) -> None:
    item = generated(benchmark, seed)
    hint = "" if benchmark != "explore_tom" else thing_of(item)
    assert get_language(benchmark).story(item.story, hint).events == item.events


def thing_of(item: GeneratedItem) -> str:
    actions = (event.action if isinstance(event, Aside) else event for event in item.events)
    things = (a.object for a in actions if isinstance(a, Move | Carry | Change))
    return next((thing for thing in things if thing), "")


@BENCHMARKS
@quick
@given(seed=SEEDS)
def test_the_solver_gives_the_gold_answer_to_every_question(benchmark: str, seed: int) -> None:
    item = generated(benchmark, seed)
    plain = get_language(benchmark).rules_named("plain")
    for question in item.questions:
        found = solve(benchmark, item.story, question.text, question.choices, plain)
        assert found.answer == question.answer, (item.story, question, found)


@BENCHMARKS
@quick
@given(seed=SEEDS, data=st.data())
def test_a_garbled_story_is_answered_or_refused_but_never_breaks(
    benchmark: str, seed: int, data: st.DataObject
) -> None:
    item = generated(benchmark, seed)
    words = item.story.split(" ")
    start = data.draw(st.integers(0, len(words)))
    garbled = " ".join(words[start:] + words[: start - data.draw(st.integers(0, 3))])
    question = data.draw(st.sampled_from(item.questions)).text
    for told in (garbled, " ".join(reversed(item.story.split(". "))), garbled.lower()):
        try:
            assert solve(benchmark, told, question).reason
        except ParseError as error:
            assert benchmark in str(error)


@BENCHMARKS
@quick
@given(seed=SEEDS, data=st.data())
def test_sentences_in_any_order_are_answered_or_refused(
    benchmark: str, seed: int, data: st.DataObject
) -> None:
    item = generated(benchmark, seed)
    sentences = get_language(benchmark).story(item.story).sentences
    story = "\n".join(data.draw(st.permutations(sentences)))
    for question in item.questions:
        try:
            assert solve(benchmark, story, question.text).reason
        except ParseError as error:
            assert benchmark in str(error)


@pytest.mark.parametrize("style", list(STYLES))
@BENCHMARKS
@quick
@given(seed=SEEDS)
def test_a_styled_sentence_can_be_told_from_all_others(
    benchmark: str, style: str, seed: int
) -> None:
    item = generated(benchmark, seed, style)
    people = frozenset(agents_of(item.events))
    lines = item.story.split("\n")
    if STYLES[style].backwards:
        lines = [line[len("[09:00] ") :] for line in sorted(lines)]
    for event, line in zip(item.events, lines, strict=True):
        if isinstance(event, Remark):
            assert told_apart(line, style) == ("", {}, (), ())
            continue
        whole = event if isinstance(event, Aside) else Aside(event, (), ())
        told = surface.fields_of(whole.action, people)
        assert told_apart(line, style) == (*told, whole.peeking, whole.distracted)


def told_apart(
    line: str, style: str
) -> tuple[str, dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """The template of a sentence, what stands in it, who peeks, and who is distracted."""
    beside: dict[str, tuple[str, ...]] = {"distract": (), "peek": ()}
    for kind in beside:
        if match := re.search(f" {pattern(style, kind)}$", line):
            line, beside[kind] = line[: match.start()], names_in(match["agents"])
    for kind in STYLES[style].sentences:
        if kind not in beside and (match := re.fullmatch(pattern(style, kind), line)):
            return kind, match.groupdict(), beside["peek"], beside["distract"]
    return "", {}, (), ()


def pattern(style: str, kind: str) -> str:
    template = re.escape(STYLES[style].sentences[kind])
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", template)


@BENCHMARKS
@quick
@given(seed=SEEDS)
def test_a_paraphrase_has_the_same_answers(benchmark: str, seed: int) -> None:
    # The same draws in another style give the same story under other names.
    one = generated(benchmark, seed)
    for style in STYLES:
        other = generated(benchmark, seed, style)
        renamed = renaming(STYLES[style].names)
        assert [q.question_type for q in other.questions] == [
            q.question_type for q in one.questions
        ]
        for question, same in zip(one.questions, other.questions, strict=True):
            assert renamed.get(question.answer, question.answer) == same.answer


def renaming(names: Names) -> dict[str, str]:
    """How the names of the benchmark's style are called in another style."""
    both = [
        pair
        for kind in ("rooms", "containers")
        for pair in zip(getattr(NAMES, kind), getattr(names, kind), strict=True)
    ]
    return {**dict(both), **{one.replace("_", " "): other for one, other in both}}


@BENCHMARKS
def test_the_same_seed_gives_the_same_item(benchmark: str) -> None:
    for style in STYLE_NAMES:
        assert generated(benchmark, 7, style) == generated(benchmark, 7, style)


def test_rules_are_values() -> None:
    assert Rules() == HI_TOM
    assert len({HI_TOM, EXPLORE_TOM, Rules()}) == 2
