"""Step by step: what each training of a chain changed, beside what all of it changed.

The result table sets every cell beside its base model. Where a cell starts from another one's
weights, that is the change of several trainings together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.analysis.grades import CORRECT, PairedChange, contrasts
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.table import change_text
from pipeline.formats.foreign import markdown_table
from pipeline.formats.records import Record


class StepChange(Record):
    """One column of a cell that starts from another one; shares from 0 to 1.

    Attributes:
        cell: Key of the cell.
        starts_from: Key of the cell whose weights it starts from.
        task: The column.
        base: Accuracy of the base model.
        before: Accuracy of the cell that it starts from.
        after: Accuracy of the cell.
        change: What this training changed.
        interval: Its 95 % interval, paired and by story; None where no question was put to both.
        whole: What all trainings since the base model changed.
        whole_interval: Its 95 % interval.
    """

    cell: str
    starts_from: str
    task: str
    base: float
    before: float
    after: float
    change: float
    interval: tuple[float, float] | None
    whole: float
    whole_interval: tuple[float, float] | None


HEADINGS = ("cell", "starts from", "task", "base", "before", "after", "this step", "since base")


def steps(results: Results) -> list[StepChange]:
    """Every column of every cell that starts from another one."""
    return [
        StepChange(
            cell=after.key,
            starts_from=before.key,
            task=task,
            base=base.all_tasks()[task].accuracy,
            before=before.all_tasks()[task].accuracy,
            after=scores.accuracy,
            change=scores.accuracy - before.all_tasks()[task].accuracy,
            interval=_interval(own.get((task, CORRECT))),
            whole=scores.accuracy - base.all_tasks()[task].accuracy,
            whole_interval=_interval(results.changes.get((after.key, task, CORRECT))),
        )
        for base, before, after in _chained(results, results.trained())
        for own in [contrasts(results.paired(before, after))]
        for task, scores in after.all_tasks().items()
    ]


def _interval(changed: PairedChange | None) -> tuple[float, float] | None:
    return None if changed is None else changed.interval


def _chained(
    results: Results, trained: Iterable[TrainedResult]
) -> Iterator[tuple[CellResult, CellResult, TrainedResult]]:
    """Yield the base cell, the cell before and the cell, of those that start from another one."""
    for after in trained:
        if after.cell.starts_from is not None:
            base, before = results.base_of(after), results.cells[after.cell.starts_from]
            if base.was_run and before.was_run:
                yield base, before, after


def step_texts(step: StepChange) -> tuple[str, ...]:
    """The texts of one line; accuracies in percent, changes in points."""
    return (
        *(step.cell, step.starts_from, step.task),
        *(f"{100 * share:.1f}" for share in (step.base, step.before, step.after)),
        change_text(step.change, step.interval),
        change_text(step.whole, step.whole_interval),
    )


def steps_markdown(found: list[StepChange]) -> str:
    """The table as Markdown; nothing where no cell starts from another one."""
    return markdown_table(HEADINGS, map(step_texts, found), range(3, 8)) if found else ""


def step_findings(results: Results, trained: Iterable[TrainedResult]) -> Iterator[str]:
    """Say of each chained cell what it changed on average, and all trainings together."""
    for base, before, after in _chained(results, trained):
        step, whole = (results.in_points(each, after) for each in (before, base))
        yield (
            f"{after.key} starts from {before.key}: on average over {len(after.tasks)} columns "
            f"this training changes accuracy by {step} points, and all since the base "
            f"model by {whole} (95 % intervals in brackets)."
        )
