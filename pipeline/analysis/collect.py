"""Reading the results of a study from its run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pipeline.analysis.against_paper import compare
from pipeline.analysis.grades import read_grades
from pipeline.analysis.published_check import checked_tables
from pipeline.analysis.results import CellResult, MissingCell, Results, TrainedResult
from pipeline.audit.records import Audit
from pipeline.base.errors import UserError
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.config.published import find_record
from pipeline.data.card import BaseCard, DatasetCard
from pipeline.data.origin import BaseShown, StudyOrigins
from pipeline.evaluate.records import Evaluation
from pipeline.formats.records import RecordOfModel, refuse_foreign
from pipeline.judge.columns import judged_together
from pipeline.judge.recorded import read_suite, read_table
from pipeline.judge.records import Verdicts
from pipeline.tasks.example import Example
from pipeline.train.contract import read_training
from pipeline.train.kept_rollouts import COLUMNS, TABLE

_OfModel = TypeVar("_OfModel", bound=RecordOfModel)
_WRITTEN = (
    *("evaluate/metrics.json", "evaluate/grades.parquet", "evaluate/responses.parquet"),
    "judge/verdicts.json",
)
_WRITTEN_IN_TRAINING = ("train/metrics.jsonl", "train/checkpoints.json", f"train/{TABLE}")


def lacking(params: Params, root: Path) -> list[str]:
    """The cells that have not left all of their results."""
    runs = root / "runs" / params.study.name
    return [
        key
        for key, cell in params.cells.items()
        if not all((runs / key / name).is_file() for name in _written_by(cell))
    ]


def _written_by(cell: Cell) -> tuple[str, ...]:
    return (*_WRITTEN, *(_WRITTEN_IN_TRAINING if isinstance(cell, TrainedCell) else ()))


def collect(params: Params, root: Path, failures: Mapping[str, str] | None = None) -> Results:
    """Read the results of every cell of a study.

    Args:
        params: The study.
        root: The checkout.
        failures: For a partial report: why cells have failed, by cell, as far as that is known.
            Cells and base models that have no results are errors without it.

    Raises:
        UserError: If a cell has not been run yet, or a file is damaged; names the command that
            makes it.
    """
    record = find_record(root, params.study.name)
    runs = root / "runs" / params.study.name
    combos = root / "data" / params.study.name / "combos"
    suite = _suite(params, root / "data" / params.study.name / "suite")
    left_out = set() if failures is None else {*lacking(params, root)}
    models = dict.fromkeys(cell.model for cell in params.cells.values())
    made = [model for model in models if failures is None or _is_made(runs / "base" / model)]
    return Results(
        params,
        {
            key: CellResult(key, cell, {}, {}, missing=MissingCell(cause=(failures or {}).get(key)))
            if key in left_out
            else _cell_result(params, runs / key, key, suite)
            for key, cell in params.cells.items()
        },
        _audit(params, runs / "audit" / "audit.json"),
        {
            key: DatasetCard.read_of(combos / key / "card.json", key, entry)
            for key, entry in params.dataset.items()
        },
        _origins(params, runs / "audit" / "origins.json"),
        dict.fromkeys(models)
        | {
            key: _of_base(BaseShown, runs / "base" / key / "shown.json", key).origin for key in made
        },
        {key: _of_base(BaseCard, runs / "base" / key / "card.json", key) for key in made},
        None if record is None else compare(params, record),
        () if record is None else checked_tables(params, record),
    )


def _is_made(base: Path) -> bool:
    return all((base / name).is_file() for name in ("shown.json", "card.json"))


def _of_base(kind: type[_OfModel], path: Path, key: str) -> _OfModel:
    made_by = f"base@{key}"
    return kind.read_of(_there(path, made_by), key, made_by)


def _audit(params: Params, path: Path) -> Audit:
    found = Audit.read(_there(path, "audit"), "audit")
    refuse_foreign(path, "columns", found.columns, params.suite.tasks, "audit")
    refuse_foreign(path, "training sets", found.leakage, params.dataset, "audit")
    refuse_foreign(path, "training sets", found.training, params.dataset, "audit")
    return found


def _origins(params: Params, path: Path) -> StudyOrigins:
    found = StudyOrigins.read(_there(path, "audit"), "audit")
    refuse_foreign(path, "columns", found.columns, params.suite.tasks, "audit")
    refuse_foreign(path, "training sets", found.training, params.dataset, "audit")
    return found


def _suite(params: Params, folder: Path) -> dict[str, list[Example]]:
    """The questions; none where they are not at hand, as where results alone were taken."""
    return read_suite(folder, params.suite.tasks) if folder.is_dir() else {}


def _cell_result(
    params: Params, folder: Path, key: str, suite: Mapping[str, Sequence[Example]]
) -> CellResult:
    cell = params.cells[key]
    made_by = f"evaluate@{key}"
    path = _there(folder / "evaluate" / "metrics.json", made_by)
    found = Evaluation.read_of(path, params.suite.columns, made_by)
    checks = params.suite.side_checks
    judged, judged_by = folder / "judge" / "verdicts.json", f"judge@{key}"
    tasks = judged_together(params.suite.tasks)
    result = CellResult(
        key,
        cell,
        tasks={name: scores for name, scores in found.tasks.items() if name not in checks},
        side_check={name: scores for name, scores in found.tasks.items() if name in checks},
        grades=read_grades(folder / "evaluate" / "grades.parquet", made_by, suite),
        verdicts=Verdicts.read_of(_there(judged, judged_by), tasks, judged_by).tasks,
        libraries=found.libraries,
        absent=found.absent,
    )
    if not isinstance(cell, TrainedCell):
        return result
    curve, manifest = read_training(folder / "train", cell.model, f"train@{key}")
    return TrainedResult(
        **vars(result),
        curve=curve,
        checkpoints=manifest.checkpoints,
        along=found.along,
        rollouts=read_table(folder / "train" / TABLE, tuple(COLUMNS), f"train@{key}"),
    )


def _there(path: Path, made_by: str) -> Path:
    if not path.is_file():
        raise UserError(
            f"{path} does not exist yet; run the study first: dvc repro, or what makes it: "
            f"dvc repro {made_by}"
        )
    return path
