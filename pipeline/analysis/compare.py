"""Two cells on the same questions: paired differences, and which answers turned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.analysis.paired import (
    Answers,
    PairedChange,
    answered_by_both,
    paired_changes,
    side_by_side,
    whether_right,
)
from pipeline.evaluate.statistics import bootstrap_change


@dataclass(frozen=True, slots=True)
class ColumnCompared:
    """One column of two cells.

    Attributes:
        column: Its name.
        first: Accuracy of the first cell on the questions that both answered.
        second: Accuracy of the second.
        changed: The difference with its interval and p-value.
        drawn: The interval again, by drawing whole stories (bootstrap): it takes no shape of the
            distribution for granted.
        gained: Ids of questions that only the second answers right.
        lost: Ids of questions that only the first answers right.
    """

    column: str
    first: float
    second: float
    changed: PairedChange
    drawn: tuple[float, float]
    gained: tuple[str, ...]
    lost: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """It for machines."""
        return {
            "column": self.column,
            "first": round(self.first, 4),
            "second": round(self.second, 4),
            "change": self.changed.estimate.as_json(),
            "bootstrap": [round(end, 4) for end in self.drawn],
            "p_value": self.changed.p_value,
            "gained": list(self.gained),
            "lost": list(self.lost),
        }


def compare(first: Mapping[str, Answers], second: Mapping[str, Answers]) -> list[ColumnCompared]:
    """Compare the columns that two cells have in common, in the order of the first."""
    return [
        _column(column, first[column], second[column], changed)
        for column, changed in paired_changes(first, second, first).items()
        if changed.estimate.count
    ]


def _column(column: str, first: Answers, second: Answers, changed: PairedChange) -> ColumnCompared:
    asked = answered_by_both(first, second)
    count = max(1, len(asked))
    return ColumnCompared(
        column=column,
        first=sum(first.right[name] for name in asked) / count,
        second=sum(second.right[name] for name in asked) / count,
        changed=changed,
        drawn=bootstrap_change(*side_by_side([(first, second)], whether_right)),
        gained=tuple(name for name in asked if second.right[name] and not first.right[name]),
        lost=tuple(name for name in asked if first.right[name] and not second.right[name]),
    )
