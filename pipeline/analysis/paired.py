"""What training changed, question by question: the same questions put to two models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pandas as pd

from pipeline.evaluate.measured import ClusteredValues, measured
from pipeline.evaluate.records import OPTIONS, OPTIONS_BY_LENGTH
from pipeline.evaluate.samples import SAMPLE, first_samples
from pipeline.evaluate.statistics import Estimate, change, changed_by_chance, holm, mcnemar
from pipeline.judge.recorded import read_table
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

_Value = TypeVar("_Value")
_COLUMNS = ("id", "task", "story", "correct", "tokens")
_GRADE = ("correct", "strict", "format_ok", "extracted")

Paired = tuple[Sequence[float], Sequence[float], Sequence[str]]
"""Values of two models on the same questions or pairs, and the story of each."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to one column.

    Attributes:
        right: Whether each is right, by the id of the question.
        stories: What each question is about, by its id.
        tokens: Length of each response, by the id of its question; empty where nobody counted.
        words: The same in words.
        samples_right: Share of the samples of a question that are right, by its id; empty where
            each question was asked once.
        beside: What each figure beside the accuracy is the mean of; empty where the questions were
            not at hand.
    """

    right: Mapping[str, bool]
    stories: Mapping[str, str]
    tokens: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    samples_right: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, ClusteredValues] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairedChange:
    """What changed in one column.

    Attributes:
        estimate: The change with its interval, by story.
        p_value: Of McNemar's exact test, corrected for the comparisons made together (Holm).
        by_chance: See :func:`pipeline.evaluate.statistics.changed_by_chance`; not corrected.
    """

    estimate: Estimate
    p_value: float
    by_chance: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the change."""
        return self.estimate.low, self.estimate.high


def read_answers(
    path: Path, made_by: str, suite: Mapping[str, Sequence[Example]] | None = None
) -> dict[str, Answers]:
    """Read which answers of a cell are right, by column; of several to a question, the first.

    Args:
        path: ``grades.parquet``.
        made_by: The DVC stage that writes it, for the error message.
        suite: The questions by column, for the figures beside the accuracy.

    Raises:
        UserError: If it is missing, or holds something else.
    """
    samples = read_table(path, (*_COLUMNS, *_GRADE) if suite else _COLUMNS, made_by)
    frame = first_samples(samples)
    shares: dict[str, dict[str, float]] = {}
    if SAMPLE in samples:
        for (task, name), right in samples.groupby(["task", "id"], sort=False)["correct"]:
            shares.setdefault(str(task), {})[str(name)] = float(right.mean())
    return {
        str(task): Answers(
            right=dict(zip(rows["id"], map(bool, rows["correct"]), strict=True)),
            stories=dict(zip(rows["id"], rows["story"], strict=True)),
            tokens=_counts(rows, "tokens"),
            words=_counts(rows, "words"),
            samples_right=shares.get(str(task), {}),
            beside=_beside(samples[samples["task"] == task], (suite or {}).get(str(task), ()))
            | _options(rows),
        )
        for task, rows in frame.groupby("task", sort=False)
    }


def _counts(rows: pd.DataFrame, column: str) -> dict[str, int]:
    if column not in rows:
        return {}
    return dict(zip(rows["id"], map(int, rows[column]), strict=True))


def _beside(rows: pd.DataFrame, examples: Sequence[Example]) -> dict[str, ClusteredValues]:
    if SAMPLE not in rows and not any("pair" in example.meta for example in examples):
        return {}
    groups: dict[str, list[Grade]] = {}
    for name, correct, strict, format_ok, said in rows[["id", *_GRADE]].itertuples(index=False):
        extracted = said if isinstance(said, str) else None
        groups.setdefault(name, []).append(Grade(correct, strict, format_ok, extracted))
    asked = [example for example in examples if example.id in groups]
    return measured(asked, [groups[example.id] for example in asked])


def _options(rows: pd.DataFrame) -> dict[str, ClusteredValues]:
    found = {}
    for name in (OPTIONS, OPTIONS_BY_LENGTH):
        scored = rows[rows[name].notna()] if name in rows else rows[:0]
        if len(scored):
            right = dict(zip(scored["id"], map(float, scored[name]), strict=True))
            stories = dict(zip(scored["id"], scored["story"], strict=True))
            found[name] = ClusteredValues(right, stories)
    return found


def answered_by_both(first: Answers, second: Answers) -> list[str]:
    """The ids of the questions that both have answered, in the order of the second."""
    return [name for name in second.right if name in first.right]


def side_by_side(
    pairs: Iterable[tuple[Answers, Answers]], of: Callable[[Answers], Mapping[str, _Value]]
) -> tuple[list[_Value], list[_Value], list[str]]:
    """What is known of both answers to each question that both models have answered.

    Args:
        pairs: The answers of two models, column by column.
        of: What is looked at, by the id of the question.

    Returns:
        Of the first model, of the second, and the story of each question; columns in a row.
    """
    before: list[_Value] = []
    after: list[_Value] = []
    stories: list[str] = []
    for first, then in pairs:
        asked = answered_by_both(first, then)
        before += [of(first)[name] for name in asked]
        after += [of(then)[name] for name in asked]
        stories += [then.stories[name] for name in asked]
    return before, after, stories


def whether_right(answers: Answers) -> Mapping[str, bool]:
    """Whether each answer is right, for :func:`side_by_side`."""
    return answers.right


def paired_changes(
    before: Mapping[str, Answers], after: Mapping[str, Answers], columns: Iterable[str]
) -> dict[str, PairedChange]:
    """What changed in each column that both have answered."""
    return changes_of(
        {
            column: side_by_side([(before[column], after[column])], whether_right)
            for column in columns
            if column in before and column in after
        }
    )


def mean_change(pairs: Sequence[tuple[Answers, Answers]]) -> Estimate:
    """The change of accuracy on average over columns, each of which counts the same.

    Args:
        pairs: The answers of two models, column by column.
    """
    columns = [side_by_side([pair], whether_right) for pair in pairs]
    columns = [column for column in columns if column[0]]
    count = sum(len(stories) for *_, stories in columns)
    steps: list[float] = []
    changes = [change(*column) for column in columns]
    middle = sum(each.value for each in changes) / max(1, len(changes))
    for (was, now, stories), own in zip(columns, changes, strict=True):
        weight = count / (len(columns) * len(stories))
        gained = (now - before for before, now in zip(was, now, strict=True))
        steps += [middle + weight * (step - own.value) for step in gained]
    return change([0.0] * count, steps, [story for *_, of in columns for story in of])


def beside_changes(before: Answers, after: Answers) -> dict[str, PairedChange]:
    """What changed in each figure beside the accuracy of a column."""
    return changes_of(
        {
            name: _in_common(before.beside[name], now)
            for name, now in after.beside.items()
            if name in before.beside
        }
    )


def _in_common(before: ClusteredValues, after: ClusteredValues) -> Paired:
    names = [name for name in after.values if name in before.values]
    was, now = ([each.values[name] for name in names] for each in (before, after))
    return was, now, [after.stories[name] for name in names]


def changes_of(paired: Mapping[str, Paired]) -> dict[str, PairedChange]:
    """What changed, by name; p-values are corrected for all that are given."""
    corrected = holm([mcnemar(was, now) for was, now, _ in paired.values()])
    return {
        name: PairedChange(change(*each), p_value, changed_by_chance(*each))
        for (name, each), p_value in zip(paired.items(), corrected, strict=True)
    }
