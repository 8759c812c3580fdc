"""Cells as people name them: of the study in use, of another one, or one of their checkpoints."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.params_file import read_params

GRADES = "grades.parquet"


@dataclass(frozen=True, slots=True)
class Side:
    """The answers of a cell, of one of its checkpoints, or in a folder.

    Attributes:
        text: Its name.
        answers: Folder of the answers, with their grades.
        study: Whose suite was asked; None where nobody says.
        made_by: What writes the files, for error messages.
    """

    text: str
    answers: Path
    study: str | None
    made_by: str


def evaluated_cells(folder: Path) -> list[str]:
    """The cells of a study that were evaluated, by the study's folder of runs."""
    return sorted(path.parent.parent.name for path in folder.glob(f"*/evaluate/{GRADES}"))


def cell_side(root: Path, study: str, cell: str) -> Side:
    """The answers of a cell, whether they are there or not."""
    folder = root / "runs" / study / cell
    return Side(f"{study}/{cell}", folder / "evaluate", study, f"evaluate@{cell}")


def side_of(root: Path, name: str) -> Side:
    """The answers that a name stands for: ``CELL``, ``STUDY/CELL``, ``CELL@STEP``, a folder.

    Raises:
        UserError: If there are none; lists the cells that there are.
    """
    for folder in (Path(name), Path(name) / "evaluate"):
        if (folder / GRADES).is_file():
            return Side(name, folder, _study_of(root, folder), "evaluate")
    cell, _, checkpoint = name.partition("@")
    study, slash, key = cell.rpartition("/")
    in_use = read_params(root / "params.yaml")
    found = cell_side(root, study if slash else in_use.study.name, key)
    if checkpoint:
        return _checkpoint(root, found, key, checkpoint)
    if not found.answers.is_dir():
        there = evaluated_cells(root / "runs" / str(found.study))
        allowed = ", ".join(there) or "none yet; run the study first: tomrl repro"
        raise UserError(
            f"no evaluated cell {found.text}, and no folder {name} with {GRADES}; there are of "
            f"{found.study}: {allowed}"
        )
    return found


def _checkpoint(root: Path, cell: Side, key: str, name: str) -> Side:
    from pipeline.stages.checkpoint import checkpoint_answers
    from pipeline.stages.common import Stage

    params = read_params(root / "params.yaml")
    if cell.study != params.study.name:
        raise UserError(
            f"{cell.text}@{name}: a checkpoint is asked as the study in use says, which is "
            f"{params.study.name}; run: tomrl study use {cell.study}"
        )
    with redirect_stdout(sys.stderr):  # standard output is the comparison's
        folder = checkpoint_answers(Stage("evaluate", root, params), key, name)
    return Side(f"{cell.text}@{name}", folder, cell.study, cell.made_by)


def _study_of(root: Path, folder: Path) -> str | None:
    """The study in whose runs a folder lies."""
    runs = (root / "runs").resolve()
    found = folder.resolve()
    return found.relative_to(runs).parts[0] if found.is_relative_to(runs) else None
