"""Where the pipeline writes, and what killed processes left half-written there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from pipeline.base.home import home_of
from pipeline.formats import temporaries
from pipeline.formats.files import remove_leftovers

MADE = ("code", "data", "runs", "logs", "reports", "weights", "work")
"""Folders of a checkout that hold only what the pipeline makes."""
_SECONDS_TO_WRITE = 1.0


def remove_leftovers_of(root: Path) -> None:
    """Remove what processes of this machine that are dead for sure left half-written.

    Args:
        root: A checkout.
    """
    for folder, deep in _places(root):
        remove_leftovers(folder, deep)


def ownerless(root: Path) -> Iterator[Path]:
    """Yield what was left half-written and may be removed: nobody here is known to write it.

    Some may be written by another machine right now, on a file system that both see.
    """
    for folder, deep in _places(root):
        for path in temporaries.find(folder, deep):
            if not temporaries.has_owner(path):
                yield path


def mend_dvc(root: Path) -> None:
    """Remove the files of DVC that it was killed in writing, which it refuses to read.

    It rewrites two in place, for milliseconds at a time: whom files are locked by, and
    ``dvc.lock``. Without them nothing is lost: the first is about processes that are dead, and what
    the second says of stages is in DVC's cache of runs too, but for ``acquire``, which has no
    dependencies and runs again. Whole files are left alone.

    Args:
        root: A checkout.
    """
    for name, is_whole in _WRITTEN_IN_PLACE.items():
        path, deadline = root / name, time.monotonic() + _SECONDS_TO_WRITE
        while path.exists() and not is_whole(path):
            if time.monotonic() > deadline:
                path.unlink(missing_ok=True)
            time.sleep(0.05)


def _is_whole_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _is_whole_lock(path: Path) -> bool:
    try:
        content = yaml.load(path.read_bytes(), yaml.CSafeLoader)
    except yaml.YAMLError:
        return False
    stages = content.get("stages") if isinstance(content, dict) else None
    return (
        isinstance(stages, dict)
        and "schema" in content
        and all(isinstance(stage, dict) and "cmd" in stage for stage in stages.values())
    )


_WRITTEN_IN_PLACE = {".dvc/tmp/rwlock": _is_whole_json, "dvc.lock": _is_whole_lock}


def _places(root: Path) -> list[tuple[Path, bool]]:
    """Return folders, and whether those below them are meant too."""
    shared = {root, home_of(root)}
    return [*((root / name, True) for name in MADE), *((path, False) for path in sorted(shared))]
