"""The results of a study, collected from its run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.params import Cell, Params
from pipeline.errors import UserError
from pipeline.files import read_json, read_lines
from pipeline.train.collapse import Collapse, find_collapse


@dataclass(frozen=True)
class CellResult:
    """Everything that the stages of one cell wrote."""

    key: str
    cell: Cell
    curve: list[dict[str, Any]]
    checkpoints: dict[str, Any]
    tasks: dict[str, dict[str, Any]]
    side_check: dict[str, dict[str, Any]]

    @property
    def collapse(self) -> Collapse | None:
        """Return where the responses collapsed in training, if they did."""
        return find_collapse(self.curve)


@dataclass(frozen=True)
class Row:
    """One line of the result table: a trained cell on one task, beside its base model.

    Accuracies are shares from 0 to 1; ``rule`` is None where no rule applies.
    """

    cell: str
    model: str
    combination: str
    algorithm: str
    task: str
    in_distribution: bool | None
    count: int
    base: float
    trained: float
    interval: tuple[float, float]
    rule: float | None
    rule_name: str | None

    @property
    def change(self) -> float:
        """Return the change by training, as a share."""
        return self.trained - self.base


@dataclass(frozen=True)
class Results:
    """All results of a study."""

    params: Params
    cells: dict[str, CellResult]
    audit: dict[str, Any]
    cards: dict[str, Any]

    def base_of(self, result: CellResult) -> CellResult:
        """Return the base cell of a trained cell's model."""
        return self.cells[f"{result.cell.model}-base"]

    def trained(self) -> list[CellResult]:
        """Return the cells that were trained, in the study's order."""
        return [result for result in self.cells.values() if result.cell.train is not None]

    def rows(self) -> list[Row]:
        """Return the lines of the result table, side-check last in each cell."""
        return [row for result in self.trained() for row in self._rows_of(result)]

    def _rows_of(self, result: CellResult) -> Iterator[Row]:
        base, cell = self.base_of(result), result.cell
        for task, scores in {**result.tasks, **result.side_check}.items():
            before = {**base.tasks, **base.side_check}[task]
            best = self.audit["columns"].get(task, {}).get("baselines", {}).get("best", {})
            yield Row(
                cell=result.key,
                model=cell.title,
                combination=cell.combination or "",
                algorithm=cell.algorithm or "",
                task=task,
                in_distribution=self.is_trained(task, cell),
                count=scores["count"],
                base=before["accuracy"],
                trained=scores["accuracy"],
                interval=(scores["interval"][0], scores["interval"][1]),
                rule=best.get("accuracy"),
                rule_name=best.get("rule"),
            )

    def is_trained(self, task: str, cell: Cell) -> bool | None:
        """Return whether a column is in distribution for a cell; None for the side-check."""
        column = self.params.suite.tasks.get(task)
        return None if column is None else cell.combination in column.trained


def collect(params: Params, root: Path) -> Results:
    """Read the results of every cell of a study.

    Raises:
        UserError: If a cell has not been run yet; names the command that runs it.
    """
    runs = root / "runs" / params.study.name
    cells = {key: _cell_result(runs / key, key, cell) for key, cell in params.cells.items()}
    cards = {
        key: read_json(root / "data" / params.study.name / "combos" / key / "card.json")
        for key in params.dataset
    }
    return Results(params, cells, read_json(_there(runs / "audit" / "audit.json")), cards)


def _cell_result(folder: Path, key: str, cell: Cell) -> CellResult:
    return CellResult(
        key=key,
        cell=cell,
        curve=read_lines(_there(folder / "train" / "metrics.jsonl")),
        checkpoints=read_json(_there(folder / "train" / "checkpoints.json")),
        tasks=read_json(_there(folder / "evaluate" / "metrics.json"))["tasks"],
        side_check=read_json(_there(folder / "gsm8k" / "metrics.json"))["tasks"],
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} does not exist yet; run the study first: dvc repro")
    return path
