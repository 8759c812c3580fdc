"""A cell's answers to a suite, read from its run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.data import SuiteTask
from pipeline.data.codec import read_column
from pipeline.evaluate.samples import first_samples
from pipeline.formats.records import damage, unreadable
from pipeline.judge.items import Item
from pipeline.tasks.example import Example

_RESPONSES = ("id", "task", "response")
_GRADES = ("id", "correct", "extracted")


def read_suite(folder: Path, columns: Mapping[str, SuiteTask]) -> dict[str, list[Example]]:
    return {
        name: read_column(folder / f"{name}.parquet", column.task)
        for name, column in columns.items()
    }


def recorded_items(
    folder: Path, suite: Mapping[str, Sequence[Example]], made_by: str
) -> dict[str, list[Item]]:
    """Answers to a suite by column, from ``responses.parquet`` and ``grades.parquet``.

    The first of several samples counts.

    Raises:
        UserError: If a file is missing or damaged, or answers other questions.
    """
    answered = first_samples(read_answered(folder, _RESPONSES, _GRADES, made_by))
    found: dict[str, list[Item]] = {}
    for name, examples in suite.items():
        rows = answered[answered["task"] == name]
        if [example.id for example in examples] != rows["id"].tolist():
            why = f"its column {name} does not answer the questions of the suite"
            raise damage(folder / "responses.parquet", why, made_by)
        found[name] = _of_column(examples, rows)
    return found


def read_answered(
    folder: Path, responses: Sequence[str], grades: Sequence[str], made_by: str
) -> pd.DataFrame:
    """Responses beside their grades, with at least these columns of each, the first ``id``."""
    answered = read_table(folder / "responses.parquet", responses, made_by)
    graded = read_table(folder / "grades.parquet", grades, made_by)
    if answered["id"].tolist() != graded["id"].tolist():
        raise damage(folder / "grades.parquet", "it grades other responses", made_by)
    return answered.join(graded[list(grades[1:])])


def read_table(path: Path, columns: Sequence[str], made_by: str) -> pd.DataFrame:
    """Recorded responses or grades, with all samples, and at least these columns."""
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error, made_by) from None
    if missing := [name for name in columns if name not in frame]:
        raise damage(path, f"it has no column {', '.join(missing)}", made_by)
    return frame


def _of_column(examples: Sequence[Example], rows: pd.DataFrame) -> list[Item]:
    answered = zip(*(rows[n].tolist() for n in ("response", "extracted", "correct")), strict=True)
    return [
        Item(example, response, extracted if isinstance(extracted, str) else None, bool(correct))
        for example, (response, extracted, correct) in zip(examples, answered, strict=True)
    ]
