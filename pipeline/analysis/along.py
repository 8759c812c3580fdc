"""Accuracy along a training, column by column, from the weights of every step that was kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from pipeline.analysis.grades import CORRECT, rows_of
from pipeline.analysis.results import Results, TrainedResult
from pipeline.data.connection import Mark
from pipeline.evaluate import statistics
from pipeline.evaluate.along import answers_of
from pipeline.evaluate.peaks import FEWEST_POINTS, Peak, find_peak
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import counted, percent, points
from pipeline.formats.records import Record

HEADINGS = ("cell", "column", "connection", "start", "peak", "at step", "end", "gain", "loss", "so")


@dataclass(frozen=True)
class AskedAlong:
    """The answers to one column along a training, to the same questions at each step.

    Attributes:
        steps: The steps; 0 is the model that training started from.
        right: Of each step, whether each answer is right.
        stories: The story of each question.
    """

    steps: Sequence[int]
    right: Sequence[Sequence[bool]]
    stories: Sequence[str]


def answers_along(
    start: pd.DataFrame, end: pd.DataFrame, result: TrainedResult, column: str
) -> AskedAlong:
    """What a column's questions are answered along a training.

    Args:
        start: The grades of the model that it starts from.
        end: Those of the cell itself, which give the order of the questions.
        result: The cell.
        column: The column.
    """
    before, after = (rows_of(each, CORRECT, [column]).set_index("id") for each in (start, end))
    noted = [answers_of(each.right[column], after.index.tolist()) for each in result.along]
    asked = [name for name in noted[0] if name in before.index]
    first = (before["value"][asked] == 1).tolist()
    return AskedAlong(
        [0, *(each.step for each in result.along)],
        [first, *([answers[name] for name in asked] for answers in noted)],
        after["story"][asked].tolist(),
    )


class CurvePoint(Record):
    """Accuracy at one step, with its 95 % interval by story."""

    step: int
    accuracy: float
    interval: tuple[float, float]


class PeakOfCurve(Record):
    """The highest point between the ends of a curve.

    Attributes:
        step: Where it is.
        gain: By how much it lies above the first point.
        gain_interval: Where the changes of all points lie together with probability 0.95, over all
            curves of the study together.
        loss: By how much it lies above the last point.
        loss_interval: As of the gain.
        came_and_went: Whether both intervals lie above nothing, and most of the gain went.
    """

    step: int
    gain: float
    gain_interval: tuple[float, float]
    loss: float
    loss_interval: tuple[float, float]
    came_and_went: bool


class ColumnCurve(Record):
    """Accuracy of one cell on one column along its training.

    Attributes:
        cell: Key of the cell.
        column: The column.
        mark: How the column is connected to what the model was shown.
        questions: Questions that every step was asked.
        points: The steps, from the model that training started from.
        peak: Of the points between the ends; None where there are none.
    """

    cell: str
    column: str
    mark: Mark | None
    questions: int
    points: list[CurvePoint]
    peak: PeakOfCurve | None


def column_curves(results: Results) -> list[ColumnCurve]:
    """The curve of every column of every cell whose steps were asked."""
    found = [
        (result, column, asked)
        for result in results.trained()
        for column, asked in of_cell(results, result).items()
    ]
    return [
        ColumnCurve(
            cell=result.key,
            column=column,
            mark=results.mark_of(column, result.cell),
            questions=len(asked.stories),
            points=points_of(asked),
            peak=_peak(asked, curves=len(found)),
        )
        for result, column, asked in found
    ]


def of_cell(results: Results, result: TrainedResult) -> dict[str, AskedAlong]:
    """The answers of a cell along its training, by column; none where its steps were not asked."""
    if not result.along:
        return {}
    start = results.start_of(result).grades
    known = set(start["column"])
    return {
        column: answers_along(start, result.grades, result, column)
        for column in result.tasks
        if column in known and column in result.along[0].right
    }


def points_of(asked: AskedAlong) -> list[CurvePoint]:
    """Accuracy at each step."""
    shares = [statistics.share(right, asked.stories) for right in asked.right]
    return [
        CurvePoint(step=step, accuracy=each.value, interval=(each.low, each.high))
        for step, each in zip(asked.steps, shares, strict=True)
    ]


def _peak(asked: AskedAlong, curves: int) -> PeakOfCurve | None:
    if len(asked.steps) < FEWEST_POINTS or not asked.stories:
        return None
    found: Peak = find_peak(asked.right, asked.stories, curves)
    return PeakOfCurve(
        step=asked.steps[found.place],
        gain=found.gain.value,
        gain_interval=(found.gain.low, found.gain.high),
        loss=found.loss.value,
        loss_interval=(found.loss.low, found.loss.high),
        came_and_went=found.came_and_went,
    )


def curve_texts(curve: ColumnCurve) -> tuple[str, ...]:
    """The texts of one line: accuracies in percent, changes in points with their intervals."""
    first, last, peak = curve.points[0], curve.points[-1], curve.peak
    connection = "-" if curve.mark is None else curve.mark.text()
    if peak is None:
        between: tuple[str, ...] = ("-", "-")
        changed: tuple[str, ...] = ("-", "-", "too few steps")
    else:
        highest = next(each for each in curve.points if each.step == peak.step)
        between = (percent(highest.accuracy), str(peak.step))
        changed = (
            points(peak.gain, *peak.gain_interval),
            points(peak.loss, *peak.loss_interval),
            "a gain came and went" if peak.came_and_went else "no gain came and went",
        )
    ends = (percent(first.accuracy), *between, percent(last.accuracy))
    return (curve.cell, curve.column, connection, *ends, *changed)


def curves_markdown(curves: Sequence[ColumnCurve]) -> str:
    """The table of peaks as Markdown; nothing where no steps were asked."""
    return markdown_table(HEADINGS, map(curve_texts, curves), range(3, 9)) if curves else ""


def curve_findings(curves: Sequence[ColumnCurve]) -> Iterator[str]:
    """Say how many gains came and went along the runs, and which."""
    looked = [curve for curve in curves if curve.peak is not None]
    if not looked:
        return
    gone = [f"{c.column} of {c.cell}" for c in looked if c.peak and c.peak.came_and_went]
    named = f": {', '.join(gone)}" if gone else ""
    yield (
        f"Along {counted(len({c.cell for c in looked}), 'training')}, in {len(gone)} of "
        f"{counted(len(looked), 'curve')} a gain came and went by more than chance explains over "
        f"so many points and curves{named}."
    )
