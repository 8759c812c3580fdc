"""The profile: evidence on each faculty of a mind.

A question needs a faculty if the engine with and without it answer differently. There, each answer
is the one, the other, or neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.evaluate.statistics import Estimate, change, share
from pipeline.judge.followers import Answers, Questions
from pipeline.judge.items import Item
from pipeline.tom.minds import MINDS, mind_name

FEWEST = 30
"""Minimum number of questions that need a faculty."""

FEWEST_LACKING = 10
"""Minimum number of questions to report a faculty as possibly lacking."""

FEWEST_STORIES = 10
"""Minimum number of stories behind a decision."""

MAJORITY = 0.5

State = Literal["there", "lacking", "unclear", "not asked"]


@dataclass(frozen=True, slots=True)
class Faculty:
    """The evidence on one faculty.

    Attributes:
        whole: Agreement with the whole engine.
        without: Agreement with the mind without it.
        preference: ``whole`` less ``without``.
    """

    mind: str
    order: int | None
    whole: Estimate
    without: Estimate
    preference: Estimate

    @property
    def faculty(self) -> str:
        return MINDS[self.mind].faculty

    @property
    def asked(self) -> bool:
        return self.whole.count >= FEWEST and self.whole.clusters >= FEWEST_STORIES

    @property
    def state(self) -> State:
        lacks = self.without.low > MAJORITY and self.preference.high < 0
        if lacks and min(self.whole.count, self.whole.clusters) >= FEWEST_LACKING:
            return "lacking"
        if not self.asked:
            return "not asked"
        there = self.whole.value > MAJORITY and self.preference.low > 0
        return "there" if there else "unclear"

    def text(self) -> str:
        """In words: "hears claims: 4 of 22, where 30 are needed"."""
        right = f"{round(self.whole.value * self.whole.count)} of {self.whole.count}"
        if not self.asked:
            return f"{self.faculty}: {right}, where {FEWEST} are needed"
        return f"{self.faculty}: {self.whole.value:.0%} ({right})"

    def as_json(self) -> dict[str, Any]:
        return {
            "faculty": self.faculty,
            "without": self.mind,
            "state": self.state,
            "whole": self.whole.as_json() if self.whole.count else None,
            "lesser": self.without.as_json() if self.without.count else None,
        }


def profile_of(
    items: Sequence[Item], questions: Questions, order: int | None = None
) -> tuple[Faculty, ...]:
    """The evidence on each faculty that any question needs, optionally of one belief order."""
    places = [n for n, item in enumerate(items) if order in (None, item.example.order)]
    single = {mind_name(m): answers for m, answers in questions.minds if len(m) == 1}
    found = (
        _faculty(items, questions.believed, name, answers, places, order)
        for name, answers in single.items()
    )
    return tuple(each for each in found if each.whole.count)


def _faculty(
    items: Sequence[Item],
    believed: Answers,
    name: str,
    answers: Answers,
    places: Sequence[int],
    order: int | None,
) -> Faculty:
    apart = [
        n for n in places if None not in (believed[n], answers[n]) and believed[n] != answers[n]
    ]
    stories = [items[n].example.story_id for n in apart]
    whole = [items[n].says(str(believed[n])) for n in apart]
    lesser = [items[n].says(str(answers[n])) for n in apart]
    return Faculty(
        mind=name,
        order=order,
        whole=share(whole, stories),
        without=share(lesser, stories),
        preference=change([float(v) for v in lesser], [float(v) for v in whole], stories),
    )


def profile_text(profile: Sequence[Mapping[str, Any]]) -> str:
    """A profile in one line, from :meth:`Faculty.as_json`: present, lacking, open.

    Each faculty once, by the mind that shows it worst.
    """
    worst: dict[str, Mapping[str, Any]] = {}
    for each in profile:
        kept = worst.setdefault(each["faculty"], each)
        if _STATES.index(each["state"]) < _STATES.index(kept["state"]):
            worst[each["faculty"]] = each
    parts = {
        state: [_line(each) for each in worst.values() if each["state"] == state]
        for state in _STATES
    }
    return "; ".join(f"{state}: {', '.join(lines)}" for state, lines in parts.items() if lines)


_STATES = ("lacking", "unclear", "there", "not asked")


def _line(found: Mapping[str, Any]) -> str:
    count = found["whole"]["count"]
    return f"{found['faculty']} ({round(found['whole']['value'] * count)} of {count})"


def lacking(profile: Sequence[Faculty]) -> list[Faculty]:
    return [each for each in profile if each.state == "lacking"]


def not_shown(profile: Sequence[Faculty]) -> list[Faculty]:
    """Faculties needed and not clearly present, and those possibly lacking on few questions."""
    return [
        each
        for each in profile
        if each.state in ("lacking", "unclear")
        or (each.state == "not asked" and each.whole.value < each.without.value)
    ]


def unasked(profile: Sequence[Faculty]) -> list[Faculty]:
    return [each for each in profile if each.state == "not asked"]
