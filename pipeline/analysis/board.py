"""Models beside each other, from files of their answers: one table of what each of them shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd

from pipeline.analysis.compare import ColumnCompared, compare
from pipeline.analysis.grades import CORRECT
from pipeline.evaluate.statistics import Estimate
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import percent, points
from pipeline.judge.answers import followed, sampled
from pipeline.judge.followers import Questions
from pipeline.judge.foreign import ForeignAnswers
from pipeline.judge.items import Item, items_of, share_right
from pipeline.judge.profile import profile_text
from pipeline.judge.verdict import Verdict, judge_all
from pipeline.tasks.example import content_hash

HEADINGS = (
    *("model", "right, %", "95 %", "by order, %", "answers follow", "explained, %"),
    *("reasoning is", "points to the next model", "p"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a board.

    Attributes:
        name: The model, as the board calls it.
        right: Share of right answers, with its interval by story.
        orders: The same by belief order.
        verdict: The verdict on its answers.
        next: The next model below on the same questions, and this one less that one; None of the
            last, and where they were asked no question in common.
    """

    name: str
    right: Estimate
    orders: Mapping[int, Estimate]
    verdict: Verdict
    next: tuple[str, ColumnCompared] | None

    def as_json(self) -> dict[str, Any]:
        """It for machines."""
        ahead = None
        if self.next is not None:
            name, found = self.next
            ahead = {"model": name, **_without(found.as_json(), "column", "gained", "lost")}
        return {
            "model": self.name,
            "right": self.right.as_json(),
            "orders": {str(order): found.as_json() for order, found in self.orders.items()},
            "verdict": self.verdict.as_json(),
            "next": ahead,
        }

    def texts(self) -> list[str]:
        """It as a row of a table; see :data:`HEADINGS`."""
        answers = self.verdict.answers
        lead, p_value = "-", "-"
        if self.next is not None:
            changed = self.next[1].changed
            lead = points(changed.estimate.value, *changed.interval)
            p_value = f"{changed.p_value:.2g}"
        return [
            self.name,
            percent(self.right.value),
            f"{percent(self.right.low)} to {percent(self.right.high)}",
            ", ".join(f"{100 * each.value:.0f}" for each in self.orders.values()) or "-",
            followed(answers.follow, answers.by),
            f"{100 * answers.explained:.0f}",
            self.verdict.reasoning.is_,
            lead,
            p_value,
        ]

    def profile(self) -> str:
        return profile_text([each.as_json() for each in self.verdict.answers.profile])


def board(models: Mapping[str, Sequence[Item]]) -> list[Entry]:
    """Models beside each other, from the answers of each, the best first."""
    judged = sorted(models.items(), key=lambda each: (-share_right(each[1]).value, each[0]))
    found: list[Entry] = []
    known: dict[tuple[str, ...], Questions] = {}
    for (name, items), (below, others) in pairwise([*judged, ("", [])]):
        against = side_by_side(others, items)
        orders = dict(_orders(items))
        verdict = _verdict(items, known)
        ahead = None if against is None else (below, against)
        found.append(Entry(name, share_right(items), orders, verdict, ahead))
    return found


def board_markdown(entries: Sequence[Entry]) -> str:
    """A board as a page: the table, and the profile of each model."""
    table = markdown_table(HEADINGS, [each.texts() for each in entries], (1, 3, 5, 7, 8))
    profiles = "\n".join(f"- **{each.name}**: {each.profile() or '-'}" for each in entries)
    return f"{table}\n\nWhich faculties of a mind the answers show:\n\n{profiles}\n"


def items_of_answers(answers: ForeignAnswers) -> list[Item]:
    return items_of((each.example, each.response) for each in answers.read())


def side_by_side(first: Sequence[Item], second: Sequence[Item]) -> ColumnCompared | None:
    """Two models on the questions that both answered; None where there are none."""
    if not first or not second:
        return None
    return next(iter(compare(grades_of_items(first), grades_of_items(second))), None)


def grades_of_items(items: Sequence[Item]) -> pd.DataFrame:
    """Grades as :mod:`pipeline.analysis.grades` has them; a question is known by its text."""
    names = names_of(items)
    return pd.DataFrame(
        [
            {
                "column": item.example.benchmark,
                "figure": CORRECT,
                "id": name,
                "story": item.example.story_id,
                "value": float(item.right),
            }
            for name, item in zip(names, items, strict=True)
        ]
    )


def names_of(items: Sequence[Item]) -> list[str]:
    """A name for each question by its text; one that is asked again has the number of times."""
    seen = Counter[str]()
    names = []
    for item in items:
        name = content_hash(item.example.story, item.example.question)
        seen[name] += 1
        names.append(f"{name}:{seen[name]}")
    return names


def _verdict(items: Sequence[Item], known: dict[tuple[str, ...], Questions]) -> Verdict:
    """The verdict on answers; what rules and minds say to the same questions is found once."""
    chosen = [items[place] for place in sampled([item.example for item in items])]
    asked = tuple(item.example.id for item in chosen)
    if asked not in known:
        known[asked] = Questions.of([item.example for item in chosen])
    return judge_all(chosen, questions=known[asked])


def _orders(items: Sequence[Item]) -> Iterator[tuple[int, Estimate]]:
    orders = {item.example.order for item in items if item.example.order is not None}
    for order in sorted(orders):
        yield order, share_right([item for item in items if item.example.order == order])


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
