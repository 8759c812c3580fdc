"""Step by step: what each training of a chain changed, beside what all of it changed.

The result table sets every cell beside its base model. Where a cell starts from another one's
weights, that is the change of several trainings together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pipeline.analysis.grades import CORRECT, PairedChange, contrasts
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.table import change_text
from pipeline.analysis.tables import Column, Line, Table, percents


class Step(NamedTuple):
    """One column of a cell that starts from another one.

    Attributes:
        base: The base model.
        before: The cell that it starts from.
        after: The cell.
        task: The column.
        own: What this training changed, by question; None where no question was put to both.
        whole: What all trainings since the base model changed.
    """

    base: CellResult
    before: CellResult
    after: CellResult
    task: str
    own: PairedChange | None
    whole: PairedChange | None

    def accuracy(self, place: int) -> float:
        """The accuracy of one of the three models, from 0 to 1."""
        found: CellResult = self[place]  # type: ignore[assignment]
        return found.all_tasks()[self.task].accuracy

    def since(self, place: int) -> float:
        """What changed since one of the other two."""
        return self.accuracy(2) - self.accuracy(place)


def _changed(name: str, interval: str) -> Callable[[Line], str]:
    return lambda line: change_text(line[name], line[interval])


STEPS = Table[Step](
    Column("cell", lambda step: step.after.key, "cell"),
    Column("starts_from", lambda step: step.before.key, "starts from"),
    Column("task", lambda step: step.task, "task"),
    Column("base", lambda step: step.accuracy(0), "base", percents("base")),
    Column("before", lambda step: step.accuracy(1), "before", percents("before")),
    Column("after", lambda step: step.accuracy(2), "after", percents("after")),
    Column("change", lambda step: step.since(1), "this step", _changed("change", "interval")),
    Column("interval", lambda step: step.own and step.own.interval),
    Column("whole", lambda step: step.since(0), "since base", _changed("whole", "whole_interval")),
    Column("whole_interval", lambda step: step.whole and step.whole.interval),
)


def steps(results: Results) -> list[Line]:
    """Every column of every cell that starts from another one; shares from 0 to 1."""
    return STEPS.lines(
        Step(
            *(base, before, after, task),
            own.get((task, CORRECT)),
            results.changes.get((after.key, task, CORRECT)),
        )
        for base, before, after in _chained(results, results.trained())
        for own in [contrasts(results.paired(before, after))]
        for task in after.all_tasks()
    )


def _chained(
    results: Results, trained: Iterable[TrainedResult]
) -> Iterator[tuple[CellResult, CellResult, TrainedResult]]:
    """Yield the base cell, the cell before and the cell, of those that start from another one."""
    for after in trained:
        if after.cell.starts_from is not None:
            base, before = results.base_of(after), results.cells[after.cell.starts_from]
            if base.was_run and before.was_run:
                yield base, before, after


def step_findings(results: Results, trained: Iterable[TrainedResult]) -> Iterator[str]:
    """Say of each chained cell what it changed on average, and all trainings together."""
    for base, before, after in _chained(results, trained):
        step, whole = (results.in_points(each, after) for each in (before, base))
        yield (
            f"{after.key} starts from {before.key}: on average over {len(after.tasks)} columns "
            f"this training changes accuracy by {step} points, and all since the base "
            f"model by {whole} (95 % intervals in brackets)."
        )
