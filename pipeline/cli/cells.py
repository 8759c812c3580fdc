"""Names of cells and checkpoints on the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.errors import UserError, did_you_mean
from pipeline.config.expand import expand
from pipeline.config.params_file import read_params
from pipeline.config.study_files import find_study, study_files
from pipeline.formats.tables import holds_texts
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pipeline.judge.items import Item
    from pipeline.judge.used import Used

CELL = "a cell that was evaluated: CELL of the study in use, STUDY/CELL, or a checkpoint, CELL@last"
"""A cell in the help of commands that take a file or a cell."""

GRADES, TRIED = "grades.parquet", "tried.json"

BenchmarkOption = Annotated[
    str | None,
    typer.Option(
        "--benchmark",
        "-b",
        help="The task whose questions were answered. Default: for a file, the one whose parser "
        "reads most of its stories; every task of a cell.",
    ),
]


@dataclass(frozen=True, slots=True)
class Side:
    """The answers of a cell, of one of its checkpoints, or in a folder.

    Attributes:
        text: Its name.
        answers: Folder of the answers, with their grades.
        study: The study of the suite, if known.
        made_by: The writer of the files, for error messages.
    """

    text: str
    answers: Path
    study: str | None
    made_by: str


def names_cell(source: Path) -> bool:
    """Whether an argument names a cell or its folder, not a file or a folder of responses."""
    if source.is_dir():
        answered = any((folder / GRADES).is_file() for folder in (source, source / "evaluate"))
        return answered or not holds_texts(source)
    return not (source.is_file() or source.suffix)


def answers_by_task(
    name: str, benchmark: str | None = None
) -> Mapping[str, tuple[list[Item], Used]]:
    """A cell's answers, joined with its suite, and the effects of edited reasoning, by task.

    Args:
        name: See :func:`side_of`.
        benchmark: A single task.

    Raises:
        UserError: If there is no such cell, or it was not asked this task.
    """
    from pipeline.evaluate.tried import Tried
    from pipeline.judge.columns import judged_together
    from pipeline.judge.recorded import read_suite, recorded_items
    from pipeline.judge.used import RECORDED, used_of

    root = find_root()
    side = side_of(root, name)
    if side.study is None:
        raise UserError(f"{name}: it is not known which suite was asked; name a cell as STUDY/CELL")
    columns = expand(find_study(root, side.study)).suite.tasks
    tasks = judged_together(columns)
    if benchmark is not None and benchmark not in tasks:
        raise UserError(
            f"--benchmark {benchmark}: {side.text} was not asked it; allowed: {', '.join(tasks)}"
        )
    suite = read_suite(root / "data" / side.study / "suite", columns)
    answered = recorded_items(side.answers, suite, side.made_by)
    wanted = tasks if benchmark is None else {benchmark: tasks[benchmark]}
    file = side.answers / TRIED
    tried = Tried.read(file, side.made_by) if file.exists() else None
    return {
        task: (
            [item for column in names for item in answered[column]],
            RECORDED if tried is None else used_of(tried, suite, names),
        )
        for task, names in wanted.items()
    }


def evaluated_cells(folder: Path) -> list[str]:
    return sorted(path.parent.parent.name for path in folder.glob(f"*/evaluate/{GRADES}"))


def cell_side(root: Path, study: str, cell: str) -> Side:
    folder = root / "runs" / study / cell
    return Side(f"{study}/{cell}", folder / "evaluate", study, f"evaluate@{cell}")


def side_of(root: Path, name: str) -> Side:
    """The answers of ``CELL``, ``STUDY/CELL``, ``CELL@STEP`` or a folder; UserError if none."""
    for folder in (Path(name), Path(name) / "evaluate"):
        if (folder / GRADES).is_file():
            return Side(name, folder, _study_of(root, folder), "evaluate")
    cell, _, checkpoint = name.partition("@")
    study, slash, key = cell.rpartition("/")
    if not slash:
        study = read_params(root / "params.yaml").study.name
    elif not (root / "runs" / study).is_dir() and study not in study_files(root):
        find_study(root, study)  # says which there are
    found = cell_side(root, study, key)
    if checkpoint:
        return _checkpoint(root, found, key, checkpoint)
    if not found.answers.is_dir():
        there = evaluated_cells(root / "runs" / str(found.study))
        allowed = ", ".join(there) or "none yet; run the study first: tomrl run"
        raise UserError(
            f"no evaluated cell {found.text}{did_you_mean(key, there)}, and no folder {name} with "
            f"{GRADES}; there are of {found.study}: {allowed}"
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
    runs = (root / "runs").resolve()
    found = folder.resolve()
    return found.relative_to(runs).parts[0] if found.is_relative_to(runs) else None
