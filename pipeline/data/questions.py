"""The questions of a task, from the sources of a study of this checkout or from a mirror."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.home import find_root
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.tasks import registry
from pipeline.tasks.example import Example


def _folders(raw: Path | None) -> list[Path]:
    """Where raw sources are looked for."""
    if raw is not None:
        if not raw.is_dir():
            raise UserError(f"--raw {raw}: no such folder")
        return [raw]
    mirror = os.environ.get(MIRROR_VARIABLE)
    return [*_acquired(), *([Path(mirror)] if mirror else [])]


def examples_of(name: str, raw: Path | None) -> list[Example]:
    """The questions of a task, from the files of its sources.

    Raises:
        UserError: If there is no such task, or its sources are not here.
    """
    task, folders = registry.get(name), _folders(raw)
    complete = lambda folder: all((folder / source).is_dir() for source in task.sources)  # noqa: E731
    folder = next(filter(complete, folders), None)
    if folder is None:
        raise UserError(
            f"task {name}: source {', '.join(task.sources)} is not complete in "
            f"{' or '.join(map(str, folders)) or 'this checkout'}; use a study that acquires it "
            f"and run `dvc repro acquire`, or set {MIRROR_VARIABLE}, or give --raw"
        )
    return task.examples(folder)


def _acquired() -> list[Path]:
    """The sources of the studies of this checkout; none outside of one."""
    try:
        return sorted((find_root() / "data").glob("*/raw"))
    except UserError:
        return []
