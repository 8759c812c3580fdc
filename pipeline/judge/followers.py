"""What answers may follow instead of beliefs: listed rules, simpler minds, and learned rules.

Each is a *follower*: an answer to every question, with whether it is right and whether the model
gave the same. A learned rule is fitted to the model's answers, and speaks only of stories that it
was not fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from pipeline.judge.items import Item
from pipeline.rules.learned import LEARNED, cross_fitted, cross_fitted_list
from pipeline.rules.listed import MAJORITY, RULES, is_gold, majority_answers
from pipeline.rules.reading import Reading, read_all
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion, gold_places
from pipeline.tasks.example import Example
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
        """The share of questions that it answers right."""
        return sum(self.right) / len(self.right)

    @property
    def agreement(self) -> float:
        """The share of answers that are the same."""
        return sum(self.copied) / len(self.copied)

    def wrong(self, places: Sequence[int]) -> list[int]:
        """Which of the places it gives a wrong answer to."""
        return [p for p in places if self.answers[p] is not None and not self.right[p]]


Answers = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Questions:
    """What can be said of questions whoever answers them.

    Attributes:
        asked: The questions as rules on their surface see them.
        said: What each listed rule, each mind, and a rule learned from gold answers them.
    """

    asked: tuple[SurfaceQuestion, ...]
    said: tuple[tuple[str, Kind, Answers], ...]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Questions:
        """Read the questions, and apply every rule and mind."""
        readings = read_all(examples)
        asked, gold = gold_places(readings)
        learned = cross_fitted(asked, gold)
        by_gold = [(GOLD, Kind.LEARNED, learned.texts(asked))] if learned else []
        said = [*_listed(asked, examples), *_minds(readings), *by_gold]
        return cls(tuple(asked), tuple(each for each in said if _is_defined(each[2])))


def _is_defined(answers: Answers) -> bool:
    """Whether a rule says something to most questions."""
    return 2 * sum(answer is not None for answer in answers) > len(answers)


def followers_of(items: Sequence[Item], questions: Questions) -> list[Follower]:
    """Everything that the answers may follow; rules undefined on most are left out."""
    held = _Held(items)
    learned = (each for each in _learned(questions.asked, items) if _is_defined(each[2]))
    return [_follower(*each, held) for each in (*questions.said, *learned)]


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
    """The answers that rules give, held against gold and against what was said, each once."""

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


def _listed(
    asked: Sequence[SurfaceQuestion], examples: Sequence[Example]
) -> Iterator[tuple[str, Kind, Answers]]:
    for name in RULES:
        yield name, Kind.LISTED, [each.picks[name] for each in asked]
    yield MAJORITY, Kind.LISTED, majority_answers(examples)


def _minds(readings: Sequence[Reading]) -> Iterator[tuple[str, Kind, Answers]]:
    said = [_answers_of_minds(reading) for reading in readings]
    for name in MINDS:
        yield name, Kind.MIND, [each.get(name) for each in said]


def _answers_of_minds(reading: Reading) -> dict[str, str | None]:
    surface, language = reading.surface, language_of(reading.example.benchmark)
    if surface is None or language is None:
        return {}
    question = surface.question
    if not isinstance(question, WhereQuestion) or question.when != NOW:
        return {}
    return answers_of_minds(surface.story.events, question, language.rules[PLAIN])


def _learned(
    asked: Sequence[SurfaceQuestion], items: Sequence[Item]
) -> Iterator[tuple[str, Kind, Answers]]:
    """Yield the rules that are learned from what was answered."""
    answered = [_place_said(each, item) for each, item in zip(asked, items, strict=True)]
    readable, fitted = cross_fitted_list(asked, answered), cross_fitted(asked, answered)
    if readable is not None and readable.name not in RULES:
        yield readable.name, Kind.LIST, readable.texts(asked)
    if fitted is not None:
        near = f", near {readable.name}" if readable is not None else ""
        yield f"{LEARNED}{near}", Kind.LEARNED, fitted.texts(asked)


def _place_said(asked: SurfaceQuestion, item: Item) -> int:
    """The place of what was answered among the candidates."""
    place = asked.place_of(item.extracted)
    if place != UNDEFINED:
        return place
    said = (n for n, candidate in enumerate(asked.candidates) if item.says(candidate))
    return next(said, UNDEFINED)
