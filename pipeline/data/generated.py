"""Data made by the belief engine, in the style of every benchmark, and arithmetic, as rows.

Row ``index`` of a purpose depends on (seed, purpose, index) alone, so sets of any size share their
beginning and no two purposes share a story by construction of the random stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Never, TypedDict, TypeVar

from pipeline.config.sources import (
    ArithmeticSource,
    ExploreTomSource,
    FantomSource,
    GeneratedSource,
    HiTomSource,
    OpenTomSource,
    TomiSource,
)
from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate import brief, fantom, opentom
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.item import GeneratedItem, GeneratedQuestion
from pipeline.tom.generate.names import NAMES, Names
from pipeline.tom.generate.styles import BENCHMARK
from pipeline.tom.generate.tomi import TomiSettings
from pipeline.tom.language import EXPLORE_TOM, HI_TOM, PLAIN, TOMI, Language
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import NOW, WhereQuestion
from pipeline.tom.trace import write_trace

Value = TypeVar("Value")

# Small pools of one-word names: the smallest models learn to copy one token, not several.
_PLAIN_CONTAINERS = (
    *("bag", "basket", "bin", "bottle", "bowl", "box", "bucket", "cabinet"),
    *("case", "chest", "crate", "drawer", "jar", "sack", "tray"),
)
_SMALL = Names(NAMES.agents[:12], NAMES.objects[:8], NAMES.rooms[:8], _PLAIN_CONTAINERS)


class StoryRow(TypedDict):
    """A question about a story, with its gold answer and the beliefs that lead to it."""

    story: str
    question: str
    answer: str
    order: int | None
    question_type: str
    choices: list[str] | None
    is_interesting: bool
    trace: str


class Problem(TypedDict):
    """An arithmetic problem with its answer and the way to it."""

    question: str
    answer: str
    solution: str


def stories(source: GeneratedSource, purpose: str, count: int) -> Iterator[list[StoryRow]]:
    """Yield ``count`` stories, each as rows of its questions with gold answer and true trace."""
    for index in range(count):
        yield _rows(source, Random(f"{source.seed}:{purpose}:{index}"))


def _rows(source: GeneratedSource, random: Random) -> list[StoryRow]:
    match source:
        case HiTomSource():
            return _traced(_hi_tom(source, random), HI_TOM)
        case TomiSource():
            tomi = TomiSettings(noise=source.noise, names=_names(source))
            return _traced(TOMI.generate(tomi, random, source.telling), TOMI)
        case ExploreTomSource():
            return _traced(_explore_tom(source, random), EXPLORE_TOM)
        case FantomSource():
            item = _fantom(source, random)
            return [_row(item, question, _heard_or_missed(question)) for question in item.questions]
        case OpenTomSource():
            item = opentom.generate(opentom.OpenTomSettings(), random, source.telling)
            return [_row(item, question, "") for question in item.questions]


def _names(source: GeneratedSource) -> Names:
    return _SMALL if source.small_names else NAMES


def _one_of(values: Sequence[Value], random: Random) -> Value:
    """Return one of the values; a single one costs no draw, so that it changes no story."""
    return values[0] if len(values) == 1 else random.choice(values)


def _hi_tom(source: HiTomSource, random: Random) -> GeneratedItem:
    settings = HiTomSettings(
        agents=source.agents,
        chapters=_one_of(source.chapters, random),
        tell=_one_of(source.tell, random),
        noise=source.noise,
        names=_names(source),
    )
    if source.telling != "brief":
        return HI_TOM.generate(settings, random, source.telling)
    item = HI_TOM.generate(settings, random, BENCHMARK)
    return replace(item, story=brief.render(item.events))


def _explore_tom(source: ExploreTomSource, random: Random) -> GeneratedItem:
    settings = ExploreTomSettings(
        story_type=source.story_type,
        people=source.people,
        moves=source.moves,
        names=_names(source),
    )
    return EXPLORE_TOM.generate(settings, random, source.telling)


def _fantom(source: FantomSource, random: Random) -> GeneratedItem:
    settings = fantom.FantomSettings(
        people=source.people, told=source.told, full_context=source.full_context
    )
    return fantom.generate(settings, random, source.telling)


def _traced(item: GeneratedItem, language: Language[Never]) -> list[StoryRow]:
    """Return rows whose traces state the beliefs that lead to the answer.

    Questions in another style than the benchmark's own, and those about topics and states, have no
    trace: they are for evaluation.
    """
    known = beliefs(item.events, language.rules[PLAIN])
    return [_row(item, question, _trace(question, language, known)) for question in item.questions]


def _trace(question: GeneratedQuestion, language: Language[Never], known: Beliefs) -> str:
    try:
        asked = language.question(question.text)
    except ParseError:
        return ""
    if not isinstance(asked, WhereQuestion):
        return ""
    if asked.when != NOW:
        return f"The {asked.object} was in the {question.answer}."
    return write_trace(asked, known)


_ASKED_OF = re.compile(r"Does (\w+) know")


def _heard_or_missed(question: GeneratedQuestion) -> str:
    """Return the observation that decides a yes/no question about who knows."""
    asked = _ASKED_OF.search(question.text)
    if asked is None or question.answer not in ("yes", "no"):
        return ""
    return f"{asked[1]} {'heard' if question.answer == 'yes' else 'missed'} it."


def _row(item: GeneratedItem, question: GeneratedQuestion, trace: str) -> StoryRow:
    return {
        "story": item.story,
        "question": question.text,
        "answer": question.answer,
        "order": question.order,
        "question_type": question.question_type,
        "choices": list(question.choices) if question.choices else None,
        "is_interesting": question.interesting,
        "trace": trace,
    }


_PEOPLE = ("Ann", "Ben", "Cara", "Dan")
_THINGS = ("apples", "books", "coins", "pens")


def arithmetic(source: ArithmeticSource, purpose: str, count: int) -> Iterator[Problem]:
    """Yield ``count`` one-step word problems (addition, subtraction) with solution and answer.

    The problems are few by nature (sums of two small numbers); the split holds out problems by
    drawing each number pair for one purpose only: see :func:`_held_out`.
    """
    index = made = 0
    while made < count:
        random = Random(f"{source.seed}:{purpose}:{index}")
        index += 1
        a, b = random.randint(1, source.largest), random.randint(1, source.largest)
        if _held_out(a, b) != (purpose == "test"):
            continue
        made += 1
        yield _problem(random, a, b)


def _held_out(a: int, b: int) -> bool:
    """Return whether a pair of numbers, in any order, belongs to the test set: one in four."""
    return Random(f"held out:{min(a, b)}:{max(a, b)}").random() < 0.25


def _problem(random: Random, a: int, b: int) -> Problem:
    name, thing = random.choice(_PEOPLE), random.choice(_THINGS)
    if random.random() < 0.5:
        text = f"{name} has {a} {thing} and gets {b} more."
        solution, answer = f"{a} + {b} = {a + b}.", a + b
    else:
        a, b = max(a, b), min(a, b)
        text = f"{name} has {a} {thing} and loses {b} of them."
        solution, answer = f"{a} - {b} = {a - b}.", a - b
    question = f"{text} How many {thing} does {name} have now?"
    return {"question": question, "answer": str(answer), "solution": solution}
