"""What answers may follow instead of beliefs: listed rules, simpler minds, and learned rules.

Each is a *follower*: an answer to every question, with whether it is right and whether the model
gave the same. A learned rule is fitted to the model's answers, and speaks only of stories that it
was not fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pipeline.audit.learned import CrossFitted, cross_fitted, cross_fitted_list
from pipeline.audit.reading import Reading, read_all
from pipeline.audit.records import LEARNED
from pipeline.audit.rules import MAJORITY, RULES, is_gold, majority_answers
from pipeline.audit.surface import UNDEFINED, Asked, gold_places
from pipeline.judge.items import Item
from pipeline.tom.language import PLAIN, language_of
from pipeline.tom.minds import MINDS, answers_of_minds
from pipeline.tom.question import NOW, WhereQuestion

GOLD = "rule learned from the gold answers"
"""The baseline among followers: fitted to gold, as a rule that scores without following anyone."""


class Kind(IntEnum):
    """How much it takes to state what a follower does, the simplest first."""

    MIND = 0
    LISTED = 1
    LIST = 2
    LEARNED = 3


@dataclass(frozen=True, slots=True)
class Follower:
    """What a rule or a simpler mind says to the questions.

    Attributes:
        name: Its name.
        kind: What it is.
        answers: What it answers to each question; None where it says nothing.
        right: Whether that is right.
        copied: Whether the same was answered.
    """

    name: str
    kind: Kind
    answers: tuple[str | None, ...]
    right: tuple[bool, ...]
    copied: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Return the share of questions that it answers right."""
        return sum(self.right) / len(self.right)

    @property
    def agreement(self) -> float:
        """Return the share of answers that are the same."""
        return sum(self.copied) / len(self.copied)

    def wrong(self, places: Sequence[int]) -> list[int]:
        """Return which of the places it gives a wrong answer to."""
        return [p for p in places if self.answers[p] is not None and not self.right[p]]


def followers_of(items: Sequence[Item]) -> list[Follower]:
    """Return everything that the answers may follow; rules undefined on most are left out."""
    readings = read_all([item.example for item in items])
    asked, gold = gold_places(readings)
    found = [*_listed(asked, items), *_minds(readings, items), *_learned(asked, gold, items)]
    return [each for each in found if 2 * _given(each) > len(items)]


def _given(follower: Follower) -> int:
    return sum(answer is not None for answer in follower.answers)


def _follower(
    name: str, kind: Kind, answers: Sequence[str | None], items: Sequence[Item]
) -> Follower:
    pairs = list(zip(answers, items, strict=True))
    return Follower(
        name=name,
        kind=kind,
        answers=tuple(answers),
        right=tuple(a is not None and is_gold(a, item.example) for a, item in pairs),
        copied=tuple(a is not None and item.says(a) for a, item in pairs),
    )


def _listed(asked: Sequence[Asked], items: Sequence[Item]) -> Iterator[Follower]:
    for name in RULES:
        yield _follower(name, Kind.LISTED, [each.picks[name] for each in asked], items)
    common = majority_answers([item.example for item in items])
    yield _follower(MAJORITY, Kind.LISTED, common, items)


def _minds(readings: Sequence[Reading], items: Sequence[Item]) -> Iterator[Follower]:
    said = [_answers_of_minds(reading) for reading in readings]
    for name in MINDS:
        yield _follower(name, Kind.MIND, [each.get(name) for each in said], items)


def _answers_of_minds(reading: Reading) -> dict[str, str | None]:
    surface, language = reading.surface, language_of(reading.example.benchmark)
    if surface is None or language is None:
        return {}
    question = surface.question
    if not isinstance(question, WhereQuestion) or question.when != NOW:
        return {}
    return answers_of_minds(surface.story.events, question, language.rules[PLAIN])


def _learned(
    asked: Sequence[Asked], gold: Sequence[int], items: Sequence[Item]
) -> Iterator[Follower]:
    answered = [_place_said(each, item) for each, item in zip(asked, items, strict=True)]
    found = cross_fitted_list(asked, answered)
    if found is not None:
        yield _follower(found.name, Kind.LIST, found.texts(asked), items)
    near = f"{LEARNED}, near {found.name}" if found is not None else LEARNED
    for name, fitted in (
        (near, cross_fitted(asked, answered)),
        (GOLD, cross_fitted(asked, gold)),
    ):
        if isinstance(fitted, CrossFitted):
            yield _follower(name, Kind.LEARNED, fitted.texts(asked), items)


def _place_said(asked: Asked, item: Item) -> int:
    """Return the place of what was answered among the candidates."""
    place = asked.place_of(item.extracted)
    if place != UNDEFINED or item.extracted is None:
        return place
    said = (n for n, candidate in enumerate(asked.candidates) if item.says(candidate))
    return next(said, UNDEFINED)
