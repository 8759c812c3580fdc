"""Followers: alternatives to beliefs that answers may follow.

A *follower* is a listed or learned rule or a lesser mind, with its answer to every question. Those
fitted to the model's answers, rules or minds of two deficits, predict out of fold only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from pipeline.judge.items import Item
from pipeline.rules.form import form_answers
from pipeline.rules.learned import LEARNED, cross_fitted, cross_fitted_list, folds_of
from pipeline.rules.listed import MAJORITY, RULES, is_gold, majority_answers
from pipeline.rules.reading import Reading, read_all
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion, gold_places
from pipeline.rules.wording import WORDING, Described, cross_fitted_wording, describe
from pipeline.tasks.example import Example
from pipeline.tom.language import PLAIN, language_of
from pipeline.tom.minds import MINDS, Lacking, answers_of_minds, combined, mind_name
from pipeline.tom.question import BEFORE, NOW, WhereQuestion
from pipeline.tom.structure import structure_id

GOLD = "rule learned from the gold answers"
GOLD_WORDING = "wording learned from the gold answers"
"""Baselines among followers, fitted to gold answers."""


class Kind(IntEnum):
    """Complexity of a follower, the simplest first."""

    LISTED = 0
    MIND = 1
    LIST = 2
    MINDS = 3
    LEARNED = 4

    @property
    def tier(self) -> int:
        """Followers of one tier are equally simple."""
        return {Kind.LISTED: 0, Kind.MIND: 0, Kind.LIST: 1, Kind.MINDS: 1}.get(self, 2)

    @property
    def is_mind(self) -> bool:
        return self in (Kind.MIND, Kind.MINDS)


@dataclass(frozen=True, slots=True)
class Follower:
    """A rule's or lesser mind's answers to the questions.

    Attributes:
        answers: None where it has none.
        copied: The model gave the same answer.
    """

    name: str
    kind: Kind
    answers: tuple[str | None, ...]
    right: tuple[bool, ...]
    copied: tuple[bool, ...]

    def wrong(self, places: Sequence[int]) -> list[int]:
        """The indices among ``places`` at which its answer is wrong."""
        return [p for p in places if self.answers[p] is not None and not self.right[p]]


Answers = Sequence[str | None]
Said = tuple[str, Kind, Answers]


@dataclass(frozen=True, slots=True)
class Questions:
    """Model-independent facts about the questions.

    Attributes:
        asked: The questions as input of surface rules.
        described: Wording features of their candidates.
        said: Answers of listed rules, rules on form, lesser minds, and rules learned from gold.
        minds: Answers of each mind that lacks one or two faculties.
        believed: Answers of the whole engine, or None.
        structures: The structure of each story; its id where no parser reads it.
    """

    asked: tuple[SurfaceQuestion, ...]
    described: tuple[Described, ...]
    said: tuple[Said, ...]
    minds: tuple[tuple[Lacking, Answers], ...]
    believed: tuple[str | None, ...]
    structures: tuple[str, ...]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Questions:
        readings = read_all(examples)
        asked, gold = gold_places(readings)
        described = describe(asked, readings)
        learned = cross_fitted(asked, gold), cross_fitted_wording(asked, described, gold)
        names = (GOLD, GOLD_WORDING)
        by_gold = [
            (name, Kind.LEARNED, rule.texts(asked))
            for name, rule in zip(names, learned, strict=True)
            if rule is not None
        ]
        believed, minds = _minds(readings)
        listed = [*_listed(asked, examples), *_on_form(asked, examples)]
        known = {tuple(answers) for _, _, answers in listed} | {tuple(believed)}
        lesser: list[Said] = [
            (mind_name(lacking), Kind.MIND, answers)
            for lacking, answers in minds
            if len(lacking) == 1 and tuple(answers) not in known
        ]
        said = [each for each in (*listed, *lesser, *by_gold) if _is_defined(each[2])]
        return cls(
            tuple(asked),
            tuple(described),
            tuple(said),
            tuple(minds),
            tuple(believed),
            tuple(map(_structure, readings)),
        )

    def among(self, places: Sequence[int]) -> Questions:
        """A subset of the questions.

        Minds that then agree with the whole engine or a listed rule are left out.
        """
        believed = [self.believed[place] for place in places]
        said, known = list[Said](), {tuple(believed)}
        for name, kind, answers in self.said:
            kept = [answers[place] for place in places]
            if kind is Kind.MIND and tuple(kept) in known:
                continue
            known.add(tuple(kept))
            said.append((name, kind, kept))
        return replace(
            self,
            asked=tuple(self.asked[place] for place in places),
            described=tuple(self.described[place] for place in places),
            said=tuple(each for each in said if _is_defined(each[2])),
            minds=tuple((m, [answers[place] for place in places]) for m, answers in self.minds),
            believed=tuple(believed),
            structures=tuple(self.structures[place] for place in places),
        )

    def contradicted(self, examples: Sequence[Example]) -> list[int]:
        """Indices of labels that the engine contradicts."""
        return [
            place
            for place, (said, example) in enumerate(zip(self.believed, examples, strict=True))
            if said is not None and not is_gold(said, example)
        ]


def _structure(reading: Reading) -> str:
    if reading.surface is None:
        return reading.example.story_id
    return structure_id(reading.surface.story.events)


def _is_defined(answers: Answers) -> bool:
    return 2 * sum(answer is not None for answer in answers) > len(answers)


def followers_of(items: Sequence[Item], questions: Questions) -> list[Follower]:
    """All followers that answer most questions."""
    held = _Held(items)
    fitted = (each for each in _fitted(questions, items, held) if _is_defined(each[2]))
    return [_follower(*each, held) for each in (*questions.said, *fitted)]


def _follower(name: str, kind: Kind, answers: Answers, held: _Held) -> Follower:
    pairs = list(enumerate(answers))
    return Follower(
        name=name,
        kind=kind,
        answers=tuple(answers),
        right=tuple(a is not None and held.is_right(place, a) for place, a in pairs),
        copied=tuple(a is not None and held.is_said(place, a) for place, a in pairs),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """Answers of rules, compared with gold and the model's, each once."""

    items: Sequence[Item]
    right: dict[tuple[int, str], bool] = field(default_factory=dict)
    said: dict[tuple[int, str], bool] = field(default_factory=dict)

    def is_right(self, place: int, answer: str) -> bool:
        key = place, answer
        if key not in self.right:
            self.right[key] = is_gold(answer, self.items[place].example)
        return self.right[key]

    def is_said(self, place: int, answer: str) -> bool:
        key = place, answer
        if key not in self.said:
            self.said[key] = self.items[place].says(answer)
        return self.said[key]


def _listed(asked: Sequence[SurfaceQuestion], examples: Sequence[Example]) -> Iterator[Said]:
    for name in RULES:
        yield name, Kind.LISTED, [each.picks[name] for each in asked]
    yield MAJORITY, Kind.LISTED, majority_answers(examples)


def _on_form(asked: Sequence[SurfaceQuestion], examples: Sequence[Example]) -> Iterator[Said]:
    candidates = [each.candidates for each in asked]
    options = [example.choices or () for example in examples]
    for name, answers in form_answers(candidates, options, [e.question for e in examples]).items():
        yield name, Kind.LISTED, answers


def _minds(
    readings: Sequence[Reading],
) -> tuple[list[str | None], list[tuple[Lacking, list[str | None]]]]:
    """Answers of the whole engine, and of each distinct mind that lacks something."""
    lacking: list[Lacking] = [(name,) for name in MINDS]
    lacking += combined(tuple(MINDS))
    told = [minds_told(reading, lacking) for reading in readings]
    believed = [each[0] for each in told]
    found: dict[tuple[str | None, ...], Lacking] = {tuple(believed): ()}
    for place, mind in enumerate(lacking, 1):
        found.setdefault(tuple(each[place] for each in told), mind)
    return believed, [(mind, list(answers)) for answers, mind in found.items() if mind]


def minds_told(reading: Reading, lacking: Sequence[Lacking]) -> list[str | None]:
    """Answers of the whole engine and each mind; minds apply to the end of the story alone."""
    surface, language = reading.surface, language_of(reading.example.benchmark)
    nothing: list[str | None] = [None] * (1 + len(lacking))
    if surface is None or language is None:
        return nothing
    question = surface.question
    if not isinstance(question, WhereQuestion) or question.when == BEFORE:
        return nothing
    whole = question.answer(surface.world)
    if question.when != NOW:
        return [whole, *nothing[1:]]
    rules, events = language.rules[PLAIN], surface.story.events
    return [whole, *answers_of_minds(events, question, rules, lacking)]


def _fitted(questions: Questions, items: Sequence[Item], held: _Held) -> Iterator[Said]:
    asked = questions.asked
    answered = answered_places(asked, items)
    mind = _two_faults(questions, held)
    if mind is not None:
        yield mind
    readable, fitted = cross_fitted_list(asked, answered), cross_fitted(asked, answered)
    wording = cross_fitted_wording(asked, questions.described, answered)
    if readable is not None and readable.name not in RULES:
        yield readable.name, Kind.LIST, readable.texts(asked)
    near = f", near {readable.name}" if readable is not None else ""
    if fitted is not None:
        yield f"{LEARNED}{near}", Kind.LEARNED, fitted.texts(asked)
    if wording is not None:
        yield f"{LEARNED} of {WORDING}{near}", Kind.LEARNED, wording.texts(asked)


def _two_faults(questions: Questions, held: _Held) -> Said | None:
    """The best-fitting mind of at most two deficits, chosen out of fold."""
    minds = questions.minds
    if not minds:
        return None
    agrees = np.asarray(
        [[a is not None and held.is_said(n, a) for n, a in enumerate(said)] for _, said in minds]
    )
    folds = folds_of(questions.asked)
    chosen = {int(f): int(agrees[:, folds != f].sum(axis=1).argmax()) for f in set(folds.tolist())}
    lacking, _ = minds[int(agrees.sum(axis=1).argmax())]
    if len(lacking) < 2:
        return None
    return mind_name(lacking), Kind.MINDS, [minds[chosen[f]][1][n] for n, f in enumerate(folds)]


def answered_places(asked: Sequence[SurfaceQuestion], items: Sequence[Item]) -> list[int]:
    return [_place_said(each, item) for each, item in zip(asked, items, strict=True)]


def _place_said(asked: SurfaceQuestion, item: Item) -> int:
    place = asked.place_of(item.extracted)
    if place != UNDEFINED:
        return place
    said = (n for n, candidate in enumerate(asked.candidates) if item.says(candidate))
    return next(said, UNDEFINED)
