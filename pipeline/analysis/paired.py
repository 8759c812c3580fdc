"""What training changed, question by question: the same questions put to two models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pipeline.evaluate.samples import SAMPLE, first_samples
from pipeline.evaluate.statistics import Estimate, change, holm, mcnemar
from pipeline.judge.recorded import read_table

_Value = TypeVar("_Value")
_COLUMNS = ("id", "task", "story", "correct", "tokens")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to one column.

    Attributes:
        right: Whether each is right, by the id of the question.
        stories: What each question is about, by its id.
        tokens: Length of each response, by the id of its question; empty where nobody counted.
        samples_right: Share of the samples of a question that are right, by its id; empty where
            each question was asked once.
    """

    right: Mapping[str, bool]
    stories: Mapping[str, str]
    tokens: Mapping[str, int] = field(default_factory=dict)
    samples_right: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairedChange:
    """What changed in one column.

    Attributes:
        estimate: The change of accuracy with its interval, by story.
        p_value: Of McNemar's exact test, corrected for the comparisons made together (Holm).
    """

    estimate: Estimate
    p_value: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the change."""
        return self.estimate.low, self.estimate.high


def read_answers(path: Path, made_by: str) -> dict[str, Answers]:
    """Read which answers of a cell are right, by column; of several to a question, the first.

    Args:
        path: ``grades.parquet``.
        made_by: The DVC stage that writes it, for the error message.

    Raises:
        UserError: If it is missing, or holds something else.
    """
    samples = read_table(path, _COLUMNS, made_by)
    frame = first_samples(samples)
    shares: dict[str, dict[str, float]] = {}
    if SAMPLE in samples:
        for (task, name), right in samples.groupby(["task", "id"], sort=False)["correct"]:
            shares.setdefault(str(task), {})[str(name)] = float(right.mean())
    return {
        str(task): Answers(
            right=dict(zip(rows["id"], map(bool, rows["correct"]), strict=True)),
            stories=dict(zip(rows["id"], rows["story"], strict=True)),
            tokens=dict(zip(rows["id"], map(int, rows["tokens"]), strict=True)),
            samples_right=shares.get(str(task), {}),
        )
        for task, rows in frame.groupby("task", sort=False)
    }


def answered_by_both(first: Answers, second: Answers) -> list[str]:
    """Return the ids of the questions that both have answered, in the order of the second."""
    return [name for name in second.right if name in first.right]


def side_by_side(
    pairs: Iterable[tuple[Answers, Answers]], of: Callable[[Answers], Mapping[str, _Value]]
) -> tuple[list[_Value], list[_Value], list[str]]:
    """Return what is known of both answers to each question that both models have answered.

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
    """Return whether each answer is right, for :func:`side_by_side`."""
    return answers.right


def paired_changes(
    before: Mapping[str, Answers], after: Mapping[str, Answers], columns: Iterable[str]
) -> dict[str, PairedChange]:
    """Return what changed in each column that both have answered."""
    found: dict[str, tuple[Estimate, float]] = {}
    for column in columns:
        if column not in before or column not in after:
            continue
        was, now, stories = side_by_side([(before[column], after[column])], whether_right)
        found[column] = change(was, now, stories), mcnemar(was, now)
    corrected = holm([p_value for _, p_value in found.values()])
    return {
        column: PairedChange(estimate, p_value)
        for (column, (estimate, _)), p_value in zip(found.items(), corrected, strict=True)
    }
