"""The results of a study, collected from its run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.audit.records import Audit
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.data.card import DatasetCard
from pipeline.errors import UserError
from pipeline.evaluate.records import Evaluation, TaskScores
from pipeline.files import read_lines
from pipeline.model.manifest import Manifest, Role, StoredModel
from pipeline.records import Figures, Record
from pipeline.train.collapse import Collapse, find_collapse


@dataclass(frozen=True)
class CellResult:
    """What was measured of one cell.

    Attributes:
        key: Its key in the study.
        cell: Its parameters.
        tasks: Scores by column of the suite.
        side_check: Scores of the side-check.
        absent: Why its model was not run, if it was not.
    """

    key: str
    cell: Cell
    tasks: dict[str, TaskScores]
    side_check: dict[str, TaskScores]
    absent: str | None = None

    def all_tasks(self) -> dict[str, TaskScores]:
        """Return the scores of all columns, the side-check last."""
        return {**self.tasks, **self.side_check}


@dataclass(frozen=True, kw_only=True)
class TrainedResult(CellResult):
    """What was measured of a trained cell, and how its training went.

    Attributes:
        curve: Rows of ``metrics.jsonl``, the base model first.
        checkpoints: Its weights by role.
    """

    cell: TrainedCell
    curve: list[Figures]
    checkpoints: dict[Role, StoredModel]

    @property
    def collapse(self) -> Collapse | None:
        """Return where the responses collapsed in training, if they did."""
        return find_collapse(self.curve)


class Row(Record):
    """One line of the result table: a cell on one task, beside its base model.

    Accuracies are shares from 0 to 1. ``base`` is None where the model was not run, ``trained``
    where it is not trained, ``rule`` where no rule applies.
    """

    cell: str
    model: str
    combination: str
    algorithm: str
    task: str
    in_distribution: bool | None
    count: int | None
    base: float | None
    trained: float | None
    interval: tuple[float, float] | None
    rule: float | None
    rule_name: str | None
    change: float | None
    absent: str | None


@dataclass(frozen=True)
class Results:
    """All results of a study."""

    params: Params
    cells: dict[str, CellResult]
    audit: Audit
    cards: dict[str, DatasetCard]

    def base_of(self, result: CellResult) -> CellResult:
        """Return the base cell of a trained cell's model."""
        return self.cells[f"{result.cell.model}-base"]

    def card_of(self, result: TrainedResult) -> DatasetCard:
        """Return the card of what a cell was trained on."""
        return self.cards[result.cell.combination]

    def trained(self) -> list[TrainedResult]:
        """Return the cells that were trained, in the study's order."""
        return [result for result in self.cells.values() if isinstance(result, TrainedResult)]

    def rows(self) -> list[Row]:
        """Return the lines of the result table, side-check last in each cell.

        Trained cells come first, beside their base models; then models that nothing was trained
        from.
        """
        trained = self.trained()
        models = {result.cell.model for result in trained}
        alone = [r for r in self.cells.values() if r.cell.model not in models]
        return [row for result in (*trained, *alone) for row in self._rows_of(result)]

    def _rows_of(self, result: CellResult) -> Iterator[Row]:
        cell, is_trained = result.cell, isinstance(result, TrainedResult)
        base = self.base_of(result).all_tasks()
        for task in (*self.params.suite.tasks, cell.gsm8k.task):
            before, after = base.get(task), result.all_tasks().get(task)
            trained = after if is_trained else None
            audited = self.audit.columns.get(task)
            best = None if audited is None else audited.baselines.best
            yield Row(
                cell=result.key,
                model=cell.title,
                combination=cell.combination or "",
                algorithm="" if cell.algorithm is None else cell.algorithm.name,
                task=task,
                in_distribution=self.is_trained(task, cell),
                count=None if after is None else after.count,
                base=None if before is None else before.accuracy,
                trained=None if trained is None else trained.accuracy,
                interval=None if after is None else after.interval,
                rule=None if best is None else best.accuracy,
                rule_name=None if best is None else best.rule,
                change=trained.accuracy - before.accuracy if trained and before else None,
                absent=result.absent,
            )

    def is_trained(self, task: str, cell: Cell) -> bool | None:
        """Return whether a column is in distribution for a cell; None for the side-check."""
        column = self.params.suite.tasks.get(task)
        return None if column is None else cell.combination in column.trained


def collect(params: Params, root: Path) -> Results:
    """Read the results of every cell of a study.

    Raises:
        UserError: If a cell has not been run yet, or a file is damaged; names the command that
            makes it.
    """
    runs = root / "runs" / params.study.name
    combos = root / "data" / params.study.name / "combos"
    return Results(
        params,
        {key: _cell_result(runs / key, key, cell) for key, cell in params.cells.items()},
        Audit.read(_there(runs / "audit" / "audit.json"), "audit"),
        {
            key: DatasetCard.read(combos / key / "card.json", f"dataset@{key}")
            for key in params.dataset
        },
    )


def _cell_result(folder: Path, key: str, cell: Cell) -> CellResult:
    found = Evaluation.read(_there(folder / "evaluate" / "metrics.json"), f"evaluate@{key}")
    check = Evaluation.read(_there(folder / "gsm8k" / "metrics.json"), f"gsm8k@{key}")
    if not isinstance(cell, TrainedCell):
        return CellResult(key, cell, found.tasks, check.tasks, found.absent)
    manifest = Manifest.read(_there(folder / "train" / "checkpoints.json"), f"train@{key}")
    return TrainedResult(
        key=key,
        cell=cell,
        tasks=found.tasks,
        side_check=check.tasks,
        curve=read_lines(_there(folder / "train" / "metrics.jsonl")),
        checkpoints=manifest.checkpoints,
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} does not exist yet; run the study first: dvc repro")
    return path
