"""Rows of generated stories and arithmetic.

Row ``index`` of a purpose depends on (seed, purpose, index) alone, so sets of any size share their
beginning and purposes have separate random streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count as count_up
from random import Random
from typing import TypedDict, TypeVar

from pipeline.base.errors import UserError
from pipeline.config.sources import (
    ArithmeticSource,
    ExploreTomSource,
    FantomSource,
    GeneratedSource,
    HiTomSource,
)
from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.contrast import in_contrast
from pipeline.tom.generate import explore_tom, fantom, hi_tom_items
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings, draw_scene
from pipeline.tom.generate.hi_tom_free import FreeScene
from pipeline.tom.generate.item import CounterfactualPair, GeneratedItem, GeneratedQuestion
from pipeline.tom.generate.names import NAMES, Names
from pipeline.tom.generate.pair import NoPair
from pipeline.tom.generate.styles import BENCHMARK
from pipeline.tom.language import EXPLORE_TOM, HI_TOM, PLAIN, Language
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import NOW, WhereQuestion
from pipeline.tom.recount import heeds_claim
from pipeline.tom.story import Story
from pipeline.tom.trace import write_recount, write_trace, write_track

Value = TypeVar("Value")

# Small pools of one-word names: the smallest models learn to copy one token, not several.
_PLAIN_CONTAINERS = (
    *("bag", "basket", "bin", "bottle", "bowl", "box", "bucket", "cabinet"),
    *("case", "chest", "crate", "drawer", "jar", "sack", "tray"),
)
_SMALL = Names(NAMES.agents[:12], NAMES.objects[:8], NAMES.rooms[:8], _PLAIN_CONTAINERS)


_ATTEMPTS = 500


class StoryRow(TypedDict):
    """A question about a story, with its gold answer and the beliefs that lead to it.

    ``structure`` identifies the story's events up to renaming, and ``heeds_claim`` says whether the
    chain asked about ever believes a claim (None where no place is asked about).
    """

    story: str
    question: str
    answer: str
    order: int | None
    question_type: str
    choices: list[str] | None
    is_interesting: bool
    heeds_claim: bool | None
    trace: str
    structure: str


class PairRow(StoryRow):
    """A question about one of two stories that differ in one event.

    Attributes:
        member: ``observed`` if the witness notices the event, else ``hidden``.
        intervention: The difference, see ``pipeline.tom.generate.pair``.
        proof: ``contrast`` where no simple rule is right on both rows, else ``any``.
    """

    pair: str
    member: str
    intervention: str
    differs: bool
    proof: str


class Problem(TypedDict):
    """An arithmetic problem with its answer and the way to it."""

    question: str
    answer: str
    solution: str


def stories(
    source: GeneratedSource, purpose: str, count: int, first: int = 0
) -> Iterator[list[StoryRow]]:
    """Yield ``count`` stories from the first on, each as rows of its questions with gold answer and
    true trace."""
    for index in range(first, first + count):
        yield rows_of(source, _story(source, purpose, index))


def pairs(source: GeneratedSource) -> Iterator[list[PairRow]]:
    """Yield the source's pairs of stories, each as rows of its questions, twins side by side."""
    for index in range(source.pairs):
        random = Random(f"{source.seed}:pairs:{index}")
        for _ in range(_ATTEMPTS):
            try:
                found = _pair(source, random)
            except NoPair as error:
                raise UserError(f"{_named(source)}: {error}") from error
            if rows := _pair_rows(found, source, index):
                break
        else:
            raise UserError(
                f"{_named(source)}: none of {_ATTEMPTS} pairs has a question on which every simple "
                "rule fails; say proof: any, or let more happen (claims, chapters, people)"
            )
        yield rows


def _named(source: GeneratedSource) -> str:
    telling = "" if source.telling == BENCHMARK else f" (telling: {source.telling})"
    return f"acquire: pairs of {source.kind}{telling}"


def _pair(source: GeneratedSource, random: Random) -> CounterfactualPair:
    match source:
        case HiTomSource():
            return hi_tom_items.pair(_hi_tom(source, random), random, source.telling)
        case ExploreTomSource():
            return explore_tom.pair(_explore_tom(source), random, source.telling)
        case FantomSource():
            return fantom.pair(_fantom(source), random, source.telling)


def _pair_rows(found: CounterfactualPair, source: GeneratedSource, index: int) -> list[PairRow]:
    """The rows of a pair of stories with the required proof."""
    differing, asked = found.differing, range(len(found.observed.questions))
    proofs = ("contrast" if in_contrast(found, number) else "any" for number in asked)
    kept = {n: proof for n, proof in enumerate(proofs) if source.proof in ("any", proof)}
    if not kept:  # most pairs are thrown away, and rows cost more than their proof
        return []
    both = [rows_of(source, each, traced=False) for each in (found.observed, found.hidden)]
    return [
        {
            **of_member[number],
            "pair": f"{index}-{number}",
            "member": member,
            "intervention": found.intervention,
            "differs": number in differing,
            "proof": proof,
        }
        for number, proof in kept.items()
        for member, of_member in zip(("observed", "hidden"), both, strict=True)
    ]


def _story(source: GeneratedSource, purpose: str, index: int) -> GeneratedItem:
    """Draw stories until the structure belongs to the purpose's fold."""
    for attempt in count_up():
        again = f":{attempt}" if attempt else ""
        item = _drawn(source, Random(f"{source.seed}:{purpose}:{index}{again}"))
        if source.structures == "any" or fold_of(item.structure) == _fold(purpose):
            return item
    raise AssertionError("every fold has structures")


def _fold(purpose: str) -> str:
    """The fold of a purpose: demonstrations count as training."""
    return purpose if purpose in ("validation", "test") else "train"


def fold_of(digest: str) -> str:
    """The fold of a structure: a fifth test, a tenth validation."""
    share = int(digest, 16) % 10
    return "test" if share < 2 else "validation" if share < 3 else "train"


def _drawn(source: GeneratedSource, random: Random) -> GeneratedItem:
    match source:
        case HiTomSource():
            return hi_tom_items.generate_item(_hi_tom(source, random), random, source.telling)
        case ExploreTomSource():
            return explore_tom.generate(_explore_tom(source), random, source.telling)
        case FantomSource():
            return fantom.generate(_fantom(source), random, source.telling)


def rows_of(source: GeneratedSource, item: GeneratedItem, *, traced: bool = True) -> list[StoryRow]:
    """Rows with traces of the beliefs that lead to the answer.

    Questions in another style, and those about topics and states, have no trace: they are for
    evaluation.
    """
    if isinstance(source, FantomSource):
        traces = (_heard_or_missed(question) if traced else "" for question in item.questions)
        asked = zip(item.questions, traces, strict=True)
        return [_row(item, question, trace, None) for question, trace in asked]
    language = HI_TOM if isinstance(source, HiTomSource) else EXPLORE_TOM
    known = beliefs(item.events, language.rules[PLAIN])
    rows = []
    for question in item.questions:
        where = _where(question, language)
        heeds = heeds_claim(where, known) if where else None
        trace = (
            _trace(where, question, item.events, known, source.trace) if where and traced else ""
        )
        rows.append(_row(item, question, trace, heeds))
    return rows


def _where(question: GeneratedQuestion, language: Language) -> WhereQuestion | None:
    try:
        asked = language.question(question.text)
    except ParseError:
        return None
    return asked if isinstance(asked, WhereQuestion) else None


def _names(source: GeneratedSource) -> Names:
    return _SMALL if source.small_names else NAMES


def _one_of(values: Sequence[Value], random: Random) -> Value:
    """A choice that draws nothing from a single value, so that it changes no story."""
    return values[0] if len(values) == 1 else random.choice(values)


def _hi_tom(source: HiTomSource, random: Random) -> HiTomSettings:
    return HiTomSettings(
        agents=source.agents,
        chapters=_one_of(source.chapters, random),
        tell=_one_of(source.tell, random),
        noise=source.noise,
        names=_names(source),
        structure=source.structure,
    )


def scene_of(source: HiTomSource, random: Random) -> tuple[FreeScene, list[str]]:
    """A scene with the people and names of a source, and the containers to choose from."""
    return draw_scene(_hi_tom(source, random), random)


def _explore_tom(source: ExploreTomSource) -> ExploreTomSettings:
    return ExploreTomSettings(
        story_type=source.story_type,
        people=source.people,
        moves=source.moves,
        names=_names(source),
    )


def _fantom(source: FantomSource) -> fantom.FantomSettings:
    return fantom.FantomSettings(
        people=source.people, told=source.told, full_context=source.full_context
    )


def _trace(
    asked: WhereQuestion, question: GeneratedQuestion, events: Story, known: Beliefs, kind: str
) -> str:
    if asked.when != NOW:
        return f"The {asked.object} was in the {question.answer}."
    if kind == "beliefs":
        return write_trace(asked, known)
    if kind == "track":
        return write_track(asked, events, known)
    return write_recount(asked, events, known, walk=kind == "walk")


_ASKED_OF = re.compile(r"Does (\w+) know")


def _heard_or_missed(question: GeneratedQuestion) -> str:
    """The observation that decides a yes/no question about who knows."""
    asked = _ASKED_OF.search(question.text)
    if asked is None or question.answer not in ("yes", "no"):
        return ""
    return f"{asked[1]} {'heard' if question.answer == 'yes' else 'missed'} it."


def _row(
    item: GeneratedItem,
    question: GeneratedQuestion,
    trace: str,
    heeds: bool | None,
) -> StoryRow:
    return {
        "story": item.story,
        "question": question.text,
        "answer": question.answer,
        "order": question.order,
        "question_type": question.question_type,
        "choices": list(question.choices) if question.choices else None,
        "is_interesting": question.interesting,
        "heeds_claim": heeds,
        "trace": trace,
        "structure": item.structure,
    }


_PEOPLE = ("Ann", "Ben", "Cara", "Dan")
_THINGS = ("apples", "books", "coins", "pens")


def arithmetic(source: ArithmeticSource, purpose: str, count: int) -> Iterator[Problem]:
    """Yield ``count`` one-step word problems (addition, subtraction) with solution and answer.

    Sums of two small numbers are few; on request the test set has its own number pairs.
    """
    index = made = 0
    while made < count:
        random = Random(f"{source.seed}:{purpose}:{index}")
        index += 1
        a, b = random.randint(1, source.largest), random.randint(1, source.largest)
        if source.held_out and _held_out(a, b) != (purpose == "test"):
            continue
        made += 1
        yield _problem(random, a, b)


def _held_out(a: int, b: int) -> bool:
    """An unordered pair of numbers belongs to the test set: one in four."""
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
