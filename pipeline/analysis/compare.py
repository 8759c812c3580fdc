"""Two cells on the same questions: paired differences, and which answers turned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analysis.grades import (
    CORRECT,
    PairedChange,
    contrasts,
    paired,
    rows_of,
    side_by_side,
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
    gained: list[str]
    lost: list[str]

    def as_json(self) -> dict[str, Any]:
        """It for machines."""
        return {
            "column": self.column,
            "first": round(self.first, 4),
            "second": round(self.second, 4),
            "change": self.changed.estimate.as_json(),
            "bootstrap": [round(end, 4) for end in self.drawn],
            "p_value": self.changed.p_value,
            "gained": self.gained,
            "lost": self.lost,
        }


def compare(first: pd.DataFrame, second: pd.DataFrame) -> list[ColumnCompared]:
    """Compare the columns that two cells have in common, in the order of the first."""
    both = paired(first, second)
    changes = contrasts(both)
    names = (str(name) for name in first["column"].unique())
    return [
        _column(both, name, changes[name, CORRECT]) for name in names if (name, CORRECT) in changes
    ]


def _column(both: pd.DataFrame, column: str, changed: PairedChange) -> ColumnCompared:
    rows = rows_of(both, CORRECT, [column])
    return ColumnCompared(
        column=column,
        first=float(rows["before"].mean()),
        second=float(rows["after"].mean()),
        changed=changed,
        drawn=bootstrap_change(*side_by_side(rows)),
        gained=rows["id"][rows["after"] > rows["before"]].tolist(),
        lost=rows["id"][rows["after"] < rows["before"]].tolist(),
    )
