"""ExploreToM's questions about a story, with gold answers from the engine.

The choice of questions follows upstream (``belief_tracker.py``): nobody is asked about a belief
they do not have, and the past is asked about only where something changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from pipeline.tom.belief import Beliefs
from pipeline.tom.generate import surface
from pipeline.tom.generate.explore_tom_text import STATES, quoted
from pipeline.tom.generate.item import GeneratedQuestion
from pipeline.tom.generate.styles import BENCHMARK, STYLES
from pipeline.tom.observation import CONTAINER, ROOM, Chain
from pipeline.tom.question import (
    BEFORE,
    BEGINNING,
    NOW,
    KnowsQuestion,
    Question,
    StateQuestion,
    WhereQuestion,
)
from pipeline.tom.story import (
    Action,
    Aside,
    Carry,
    Change,
    Discuss,
    Move,
    Remark,
    Story,
    agents_of,
)

Asked = tuple[Question, str, str]  # the question, its answer, its type


def questions(events: Story, known: Beliefs, style: str) -> Iterator[GeneratedQuestion]:
    """Yield every question about a story, the factual ones first."""
    actions = [event.action if isinstance(event, Aside) else event for event in events]
    for asked in _factual(actions, known, style):
        yield _generated(asked, style, interesting=True)
    for group in _groups(events, actions, known):
        interesting = len({answer for _, answer, _ in group}) > 1
        for asked in group:
            yield _generated(asked, style, interesting)


def _generated(asked: Asked, style: str, interesting: bool) -> GeneratedQuestion:
    question, answer, kind = asked
    if style == BENCHMARK:
        text = render_question(question)
    else:
        text = surface.ask(question, style, name_aspect=True)
    order = len(question.chain) or -1
    return GeneratedQuestion(text, answer, order, kind, None, interesting, question)


def _groups(events: Story, actions: list[Action | Remark], known: Beliefs) -> Iterator[list[Asked]]:
    people = agents_of(events)
    chains: list[Chain] = [*((who,) for who in people), *permutations(people, 2)]
    things = dict.fromkeys(
        action.object for action in actions if isinstance(action, Move | Carry | Change)
    )
    containers = dict.fromkeys(a.container for a in actions if isinstance(a, Move))
    for thing in things:
        assert thing is not None
        yield _places(thing, CONTAINER, chains, known)
    for thing in (*things, *containers):
        assert thing is not None
        yield _places(thing, ROOM, [chain for chain in chains if len(chain) == 2], known)
    for topic in dict.fromkeys(a.topic for a in actions if isinstance(a, Discuss)):
        yield [_knows(topic, chain, known) for chain in chains]
    for change in actions:
        if isinstance(change, Change):
            yield [_state(change, chain, known) for chain in chains]


def _places(thing: str, aspect: str, chains: list[Chain], known: Beliefs) -> list[Asked]:
    truth = known.of((), thing, aspect)
    return [
        (WhereQuestion(thing, chain, aspect), place, f"{aspect}_location-{place == truth}")
        for chain in chains
        if (place := known.of(chain, thing, aspect)) is not None
    ]


def _knows(topic: str, chain: Chain, known: Beliefs) -> Asked:
    question = KnowsQuestion(topic, chain)
    heard = question.decisive(known) is not None
    return question, question.answer(known), f"<knowledge>-{heard}"


def _state(change: Change, chain: Chain, known: Beliefs) -> Asked:
    thing = change.object or ""
    clauses = {done.format(thing=thing): clause for done, clause in STATES.items()}
    question = StateQuestion(clauses[change.state].format(thing=thing), chain)
    seen = known.decisive(chain, thing, change.state) is not None
    return question, "yes" if seen else "no", "<state_update>"


def _factual(actions: list[Action | Remark], known: Beliefs, style: str) -> Iterator[Asked]:
    for thing in dict.fromkeys(a.object for a in actions if isinstance(a, Move | Carry)):
        for aspect in (CONTAINER, ROOM):
            history = [o for o in known.history((), thing, aspect) if o.value]
            values = list(dict.fromkeys(o.value for o in history))
            now = known.of((), thing, aspect)
            if len(values) < 2:
                continue
            where = WhereQuestion(thing, aspect=aspect)
            first = replace(where, when=BEGINNING)
            yield first, first.answer(known) or "", f"memory-{aspect}_location"
            if now is not None:
                yield where, now, f"ground_truth-{aspect}_location"
            if len(values) > 2:
                yield from _before(where, actions, known, style)


def _before(
    where: WhereQuestion, actions: list[Action | Remark], known: Beliefs, style: str
) -> Iterator[Asked]:
    """Yield questions on the object's place before each event that occurs once and tells it."""
    told: dict[str, list[int]] = {}
    for moment, action in enumerate(actions):
        if isinstance(action, Move) or (isinstance(action, Carry) and where.aspect == ROOM):
            words = quoted(action)
            if style != BENCHMARK:
                words = surface.sentence(action, STYLES[style]).rstrip(".")
            told.setdefault(words, []).append(moment)
    for words, moments in told.items():
        question = replace(where, when=BEFORE, event=words)
        place = question.answer(known, moments[0])
        if len(moments) == 1 and place is not None:
            yield question, place, f"memory_before_event-{where.aspect}_location"


def render_question(question: Question) -> str:
    match question:
        case KnowsQuestion(topic, (first,)):
            return f"Does {first} know about {topic}? Answer yes or no."
        case KnowsQuestion(topic, (first, second)):
            return (
                f"What does {first} think about {second}'s belief on {topic}? "
                "(knows about it / does not know about it)"
            )
        case StateQuestion(clause, (first,)):
            return f"Does {first} believe that the {clause}? Answer yes or no."
        case StateQuestion(clause, (first, second)):
            return f"Does {first} think that {second} believes that the {clause}? Answer yes or no."
        case WhereQuestion():
            return _render_where(question)
    raise ValueError(f"ExploreToM does not ask {question}")


def _render_where(question: WhereQuestion) -> str:
    where, thing = f"In which {question.aspect}", question.object
    match question.chain:
        case (first,):
            return f"{where} will {first} search for the {thing}?"
        case (first, second):
            return f"{where} does {first} think that {second} will search for the {thing}?"
    if question.when == NOW:
        return f"{where} is the {thing} now?"
    ending = "at the beginning" if question.when == BEGINNING else f"before {question.event}"
    return f"{where} was the {thing} {ending}?"
