"""The results of a study, and what follows from them cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
from pydantic import Field

from pipeline.analysis.against_paper import AgainstPaper
from pipeline.analysis.grades import (
    CORRECT,
    PairedChange,
    contrasts,
    mean_contrast,
    no_grades,
    paired,
)
from pipeline.audit.records import Audit
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.config.published import PublishedTable
from pipeline.data.card import BaseCard, DatasetCard
from pipeline.data.connection import Connection, Mark, Shown, mark
from pipeline.data.origin import Origin, StudyOrigins
from pipeline.evaluate.records import AskedStep, TaskScores
from pipeline.evaluate.statistics import holm
from pipeline.formats.plural import points
from pipeline.formats.records import Figures, Record
from pipeline.judge.records import TaskVerdict
from pipeline.model.manifest import Role, StoredModel
from pipeline.train.collapse import Collapse, find_collapse
from pipeline.train.kept_rollouts import table_of


class MissingCell(Record):
    """Why a cell has no results.

    Attributes:
        cause: Why it failed; None where nobody knows of a failure.
    """

    cause: str | None

    @property
    def word(self) -> str:
        """``failed`` or ``not run``."""
        return "not run" if self.cause is None else "failed"

    def text(self) -> str:
        """``failed: CAUSE`` or ``not run``."""
        return self.word if self.cause is None else f"{self.word}: {self.cause}"


@dataclass(frozen=True)
class CellResult:
    """What was measured of one cell.

    Attributes:
        key: Its key in the study.
        cell: Its parameters.
        tasks: Scores by task of the suite.
        side_check: Scores of its side-checks.
        grades: Its grades, see :mod:`pipeline.analysis.grades`.
        verdicts: What its answers follow and its reasoning is, by task.
        libraries: Versions that its scores depend on.
        absent: Why its model was not run, if it was not.
        missing: Why it has no results, in a partial report.
    """

    key: str
    cell: Cell
    tasks: dict[str, TaskScores]
    side_check: dict[str, TaskScores]
    grades: pd.DataFrame = field(default_factory=no_grades, compare=False)
    verdicts: dict[str, TaskVerdict] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    absent: str | None = None
    missing: MissingCell | None = None

    @property
    def was_run(self) -> bool:
        return self.absent is None and self.missing is None

    def all_tasks(self) -> dict[str, TaskScores]:
        """The scores of all columns, the side-check last."""
        return {**self.tasks, **self.side_check}


@dataclass(frozen=True, kw_only=True)
class TrainedResult(CellResult):
    """What was measured of a trained cell, and how its training went.

    Attributes:
        curve: Rows of ``metrics.jsonl``, the base model first.
        checkpoints: Its weights by role.
        along: What the weights of every step that was kept answer to some questions.
        rollouts: What was kept of its rollouts, see :mod:`pipeline.train.kept_rollouts`.
    """

    cell: TrainedCell
    curve: list[Figures]
    checkpoints: dict[Role, StoredModel]
    along: tuple[AskedStep, ...] = ()
    rollouts: pd.DataFrame = field(default_factory=table_of)

    @property
    def collapse(self) -> Collapse | None:
        """Where the responses collapsed in training, if they did."""
        return find_collapse(self.curve)


class Figure(Record):
    """A figure beside the accuracy: of the base model, and after training; None where unknown.

    The change and its interval are those of a :class:`Row`, paired by pair or by question.
    ``chance`` is what a guess scores, where that is known.
    """

    base: float | None
    trained: float | None
    change: float | None
    change_interval: tuple[float, float] | None
    table_p_value: float | None
    chance: float | None = None


class Row(Record):
    """One line of the result table: a cell on one task, beside its base model.

    Accuracies are shares from 0 to 1, by the benchmark's published rule; ``base_strict`` and
    ``trained_strict`` are those by the strict match, ``base_no_answer`` and ``trained_no_answer``
    the shares of responses in which no answer could be read. ``base`` is None where the model was
    not run, ``trained`` where it is not trained, ``rule`` where no rule applies. ``mark`` says how
    the task is connected to what the model was shown; it is None for the side-check, and where
    nobody here knows what that was. ``beside`` holds the task's other figures, such as pair
    accuracy. ``change_interval`` is the 95 % interval of the change, paired and by story;
    ``p_value`` that of McNemar's exact test, corrected for as many comparisons as the cell has
    columns (Holm); ``table_p_value`` the larger one of McNemar's and Student's by story, corrected
    for all changes of the table. ``base_missing`` and ``trained_missing`` say why a partial report
    has no accuracy.
    """

    cell: str
    model: str
    combination: str
    algorithm: str
    task: str
    mark: Mark | None
    side_check: bool
    count: int | None
    base: float | None
    base_strict: float | None
    trained: float | None
    trained_strict: float | None
    interval: tuple[float, float] | None
    rule: float | None
    rule_name: str | None
    change: float | None
    change_interval: tuple[float, float] | None
    p_value: float | None
    table_p_value: float | None
    absent: str | None
    base_missing: MissingCell | None = None
    trained_missing: MissingCell | None = None
    base_no_answer: float | None = None
    trained_no_answer: float | None = None
    beside: dict[str, Figure] = Field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """All results of a study.

    Attributes:
        params: The study.
        cells: What was measured, by cell; nothing of those that a partial report lacks.
        audit: What the audit found.
        cards: The training sets, by combination.
        origins: What columns and training sets were made from.
        bases: What each base model was shown, by model; None where nobody here knows.
        base_cards: The same in counts, of the base models that are made.
        against: The study beside the paper that it re-runs, if it re-runs one.
        published: The results that this paper publishes.
    """

    params: Params
    cells: dict[str, CellResult]
    audit: Audit
    cards: dict[str, DatasetCard]
    origins: StudyOrigins
    bases: dict[str, Origin | None]
    base_cards: dict[str, BaseCard]
    against: AgainstPaper | None = None
    published: tuple[PublishedTable, ...] = ()

    def base_of(self, result: CellResult) -> CellResult:
        """The base cell of a cell's model, as the study asks base models."""
        return self.cells[f"{result.cell.model}-base"]

    def start_of(self, result: TrainedResult) -> CellResult:
        """The cell whose weights a cell starts from: another trained one, or its base cell."""
        first = result.cell.starts_from
        return self.base_of(result) if first is None else self.cells[first]

    def trained(self) -> list[TrainedResult]:
        return [result for result in self.cells.values() if isinstance(result, TrainedResult)]

    def missing(self) -> dict[str, MissingCell]:
        """The cells that have no results, and why; none but in a partial report."""
        return {key: each.missing for key, each in self.cells.items() if each.missing is not None}

    def rows(self) -> list[Row]:
        """The lines of the result table, side-check last in each cell.

        Trained models come first, beside their base models; then models that nothing was trained
        from.
        """
        trained = [result for result in self.cells.values() if result.cell.combination is not None]
        models = {result.cell.model for result in trained}
        alone = [r for r in self.cells.values() if r.cell.model not in models]
        return [row for result in (*trained, *alone) for row in self.rows_of(result)]

    def rows_of(self, result: CellResult) -> Iterator[Row]:
        """Yield the lines of one cell."""
        cell, is_trained = result.cell, result.cell.combination is not None
        of_base = self.base_of(result)
        base = of_base.all_tasks()
        for task in self.params.suite.columns:
            before, after = base.get(task), result.all_tasks().get(task)
            trained = after if is_trained else None
            changed = self.changes.get((result.key, task, CORRECT))
            best = self.audit.best_rule(task, self._trained_on(cell))
            yield Row(
                cell=result.key,
                model=cell.title,
                combination=cell.combination or "",
                algorithm="" if cell.algorithm is None else cell.algorithm.name,
                task=task,
                mark=self.mark_of(task, cell),
                side_check=task in self.params.suite.side_checks,
                count=None if after is None else after.count,
                base=None if before is None else before.accuracy,
                base_strict=None if before is None else before.strict_accuracy,
                trained=None if trained is None else trained.accuracy,
                trained_strict=None if trained is None else trained.strict_accuracy,
                interval=None if after is None else after.interval,
                rule=None if best is None else best.accuracy,
                rule_name=None if best is None else best.rule,
                change=trained.accuracy - before.accuracy if trained and before else None,
                change_interval=None if changed is None else changed.interval,
                p_value=None if changed is None else changed.p_value,
                table_p_value=self._corrected.get((result.key, task, CORRECT)),
                absent=result.absent,
                base_missing=of_base.missing,
                trained_missing=result.missing if is_trained else None,
                base_no_answer=None if before is None else before.no_answer,
                trained_no_answer=None if trained is None else trained.no_answer,
                beside=self._beside(result.key, task, before, trained),
            )

    def _beside(
        self, key: str, task: str, before: TaskScores | None, trained: TaskScores | None
    ) -> dict[str, Figure]:
        base = {} if before is None else before.beside_accuracy()
        after = {} if trained is None else trained.beside_accuracy()
        options = next((s.options for s in (before, trained) if s and s.options), None)
        found: dict[str, Figure] = {}
        for name in dict.fromkeys((*base, *after)):
            changed = self.changes.get((key, task, name))
            found[name] = Figure(
                base=base.get(name),
                trained=after.get(name),
                change=after[name] - base[name] if name in base and name in after else None,
                change_interval=None if changed is None else changed.interval,
                table_p_value=self._corrected.get((key, task, name)),
                chance=options.chance if options and name in options.figures() else None,
            )
        return found

    def paired(self, before: CellResult, after: CellResult) -> pd.DataFrame:
        """The answers of two cells to the same questions, see :mod:`pipeline.analysis.grades`."""
        key = (before.key, after.key)
        if key not in self._paired:
            self._paired[key] = paired(before.grades, after.grades)
        return self._paired[key]

    @cached_property
    def _paired(self) -> dict[tuple[str, str], pd.DataFrame]:
        return {}

    def in_points(self, before: CellResult, after: CellResult) -> str:
        """What changes on average over the suite, in points with its 95 % interval."""
        found = mean_contrast(self.paired(before, after), before.tasks)
        return points(found.value, found.low, found.high)

    @cached_property
    def changes(self) -> dict[tuple[str, str, str], PairedChange]:
        """What each cell changes from its base model, by cell, column and figure."""
        return {
            (key, *place): changed
            for key, result in self.cells.items()
            if result.cell.combination is not None
            for place, changed in contrasts(self.paired(self.base_of(result), result)).items()
        }

    @cached_property
    def _corrected(self) -> dict[tuple[str, str, str], float]:
        """The p-value of each change, corrected for all changes of the table (Holm)."""
        corrected = holm([each.by_chance for each in self.changes.values()])
        return dict(zip(self.changes, corrected, strict=True))

    def mark_of(self, task: str, cell: Cell) -> Mark | None:
        """How a column is connected to what a cell's model was shown.

        None for the side-check, and where nothing is known to have been shown.
        """
        key = (task, cell.model, self._trained_on(cell))
        if key not in self._marks:
            column, shown = self.origins.columns.get(task), self.shown_to(cell)
            found = mark(column, shown) if column is not None and shown.origins else None
            self._marks[key] = found
        return self._marks[key]

    @cached_property
    def _marks(self) -> dict[tuple[str, str, tuple[str, ...]], Mark | None]:
        return {}

    def is_trained(self, task: str, cell: Cell) -> bool:
        """Whether a cell trains on a column's kind of question."""
        found = self.mark_of(task, cell)
        return found is not None and found.connection is Connection.TRAINED

    def shown_to(self, cell: Cell) -> Shown:
        """What a cell's model was shown: in its warm start, and in all its trainings."""
        sets = [self.origins.training[key] for key in self._trained_on(cell)]
        trained = Origin.together(sets) if sets else None
        return Shown(trained=trained, demonstrated=self.bases[cell.model])

    def _trained_on(self, cell: Cell) -> tuple[str, ...]:
        """The training sets of a cell's model, the first one first."""
        return tuple(dict.fromkeys(each.combination for each in self.params.chain(cell)))
