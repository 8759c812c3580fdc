"""The grades of answers as one frame, and what differs between the answers of two models.

A row of a frame is a value of one question, or of one pair of questions:

========== =========================================================================================
``column`` the column of the suite
``figure`` what is measured: whether the answer is right, its length, another figure
``id``     the question, or the pair
``story``  what it is about; values of one story are not independent
``value``  a number; 1.0 of what is right
========== =========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.evaluate.measured import ClusteredValues, measured
from pipeline.evaluate.records import OPTIONS, OPTIONS_BY_LENGTH
from pipeline.evaluate.samples import SAMPLE, first_samples
from pipeline.evaluate.statistics import Estimate, change, changed_by_chance, holm, mcnemar
from pipeline.judge.recorded import read_table
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

CORRECT, TOKENS, WORD_COUNT = "correct", "tokens", "words"
SAMPLES_RIGHT = "share of samples that are right"
_OF_ANSWERS = (CORRECT, TOKENS, WORD_COUNT, SAMPLES_RIGHT, OPTIONS, OPTIONS_BY_LENGTH)
_NO_SHARES = (TOKENS, WORD_COUNT, SAMPLES_RIGHT)
_COLUMNS = ("id", "task", "story", "correct", "tokens")
_GRADE = ("correct", "strict", "format_ok", "extracted")
_FRAME = ("column", "figure", "id", "story", "value")
_NAMED = {"column": "category", "figure": "category"}

Paired = tuple[list[float], list[float], list[str]]
"""Values of two models on the same questions or pairs, and the story of each."""


@dataclass(frozen=True, slots=True)
class PairedChange:
    """What changed in one figure of one column.

    Attributes:
        estimate: The change with its interval, by story.
        p_value: Of McNemar's exact test, corrected for all columns of two models (Holm).
        by_chance: See :func:`pipeline.evaluate.statistics.changed_by_chance`; not corrected.
    """

    estimate: Estimate
    p_value: float
    by_chance: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the change."""
        return self.estimate.low, self.estimate.high


def grades_of(
    column: str, figure: str, values: Mapping[str, float], stories: Mapping[str, str]
) -> pd.DataFrame:
    """A frame of one figure of one column, from values and stories by question or pair."""
    rows = [(column, figure, name, stories[name], float(each)) for name, each in values.items()]
    return pd.DataFrame(rows, columns=[*_FRAME])


def no_grades() -> pd.DataFrame:
    """A frame without rows."""
    return grades_of("", CORRECT, {}, {})


def read_grades(
    path: Path, made_by: str, suite: Mapping[str, Sequence[Example]] | None = None
) -> pd.DataFrame:
    """Read the grades of a cell; of several answers to a question, the first.

    Args:
        path: ``grades.parquet``.
        made_by: The DVC stage that writes it, for the error message.
        suite: The questions by column, for the figures beside the accuracy.

    Raises:
        UserError: If it is missing, or holds something else.
    """
    samples = read_table(path, (*_COLUMNS, *_GRADE) if suite else _COLUMNS, made_by)
    first = first_samples(samples).rename(columns={"task": "column"})
    if SAMPLE in samples:
        shares = samples.groupby(["task", "id"])["correct"].mean().rename(SAMPLES_RIGHT)
        first = first.join(shares, on=["column", "id"])
    frames = [
        first.assign(figure=name, value=first[name].astype(float))[[*_FRAME]].dropna()
        for name in _OF_ANSWERS
        if name in first
    ]
    for column, rows in samples.groupby("task", sort=False):
        for figure, each in _beside(rows, (suite or {}).get(str(column), ())).items():
            frames.append(grades_of(str(column), figure, each.values, each.stories))
    return pd.concat(frames, ignore_index=True).astype(_NAMED)


def _beside(rows: pd.DataFrame, examples: Sequence[Example]) -> dict[str, ClusteredValues]:
    if SAMPLE not in rows and not any("pair" in example.meta for example in examples):
        return {}
    groups: dict[str, list[Grade]] = {}
    for name, correct, strict, format_ok, said in rows[["id", *_GRADE]].itertuples(index=False):
        extracted = said if isinstance(said, str) else None
        groups.setdefault(name, []).append(Grade(correct, strict, format_ok, extracted))
    asked = [example for example in examples if example.id in groups]
    return measured(asked, [groups[example.id] for example in asked])


def rows_of(
    grades: pd.DataFrame, figure: str = CORRECT, columns: Iterable[str] | None = None
) -> pd.DataFrame:
    """The rows of one figure; of columns that are given, in their order."""
    rows = grades[grades["figure"] == figure]
    if columns is None:
        return rows
    places = {name: place for place, name in enumerate(columns)}
    rows = rows[rows["column"].isin(places)]
    if len(places) < 2:
        return rows
    return rows.sort_values(
        "column", key=lambda names: names.map(places).astype(int), kind="stable"
    )


def paired(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The values of all questions, and pairs, that two models have answered.

    Args:
        before: The grades of the first model.
        after: Those of the second, which give the order of the questions.

    Returns:
        A frame with ``column``, ``figure``, ``id``, ``story``, ``before`` and ``after``.
    """
    shared = ["column", "figure", "id"]
    then = after.rename(columns={"value": "after"})
    first = before[[*shared, "value"]].rename(columns={"value": "before"})
    return then.merge(first, on=shared).astype(_NAMED)


def side_by_side(
    both: pd.DataFrame, columns: Iterable[str] | None = None, figure: str = CORRECT
) -> Paired:
    """One figure of a frame of :func:`paired` in the lists that statistics take."""
    return _sides(rows_of(both, figure, columns))


def _sides(both: pd.DataFrame) -> Paired:
    return both["before"].tolist(), both["after"].tolist(), both["story"].tolist()


def contrast(both: pd.DataFrame, columns: Iterable[str] | None = None) -> Estimate:
    """The change of accuracy from one model to another, on the questions of columns together."""
    return change(*side_by_side(both, columns))


def contrasts(both: pd.DataFrame) -> dict[tuple[str, str], PairedChange]:
    """The change of every share, by column and figure; p-values are corrected for all columns."""
    found = {}
    for figure, rows in both.groupby("figure", sort=False, observed=True):
        if figure not in _NO_SHARES:
            by_column = rows.groupby("column", sort=False, observed=True)
            sides = {(str(column), str(figure)): _sides(part) for column, part in by_column}
            corrected = holm([mcnemar(was, now) for was, now, _ in sides.values()])
            for (place, each), p_value in zip(sides.items(), corrected, strict=True):
                found[place] = PairedChange(change(*each), p_value, changed_by_chance(*each))
    return found


def mean_contrast(both: pd.DataFrame, columns: Iterable[str]) -> Estimate:
    """The change of accuracy on average over columns, each of which counts the same."""
    rows = rows_of(both, CORRECT, columns)
    steps = rows["after"] - rows["before"]
    by_column = steps.groupby(rows["column"], sort=False, observed=True)
    middle = sum(by_column.mean()) / max(1, by_column.ngroups)
    weights = len(rows) / (by_column.ngroups * by_column.transform("size"))
    weighted = middle + weights * (steps - by_column.transform("mean"))
    return change([0.0] * len(rows), weighted.tolist(), rows["story"].tolist())
