"""Files of DVC that it was killed in writing."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import yaml


def mend_dvc(root: Path) -> None:
    """Remove the files of DVC that it was killed in writing, which it refuses to read.

    It rewrites two in place while it holds its lock: whom files are locked by, and ``dvc.lock``.
    Without them nothing is lost: the first is about processes that are dead, and what the second
    says of stages is in DVC's cache of runs too, but for ``acquire``, which has no dependencies
    and runs again. Whole files are left alone.

    Args:
        root: A checkout.
    """
    with _held(root):
        for name, is_whole in _WRITTEN_IN_PLACE.items():
            path = root / name
            if path.exists() and not is_whole(path):
                path.unlink()


@contextmanager
def _held(root: Path) -> Iterator[None]:
    """Hold DVC's own lock, which it does not while it waits for the command of a stage."""
    with ExitStack() as held:
        with suppress(FileNotFoundError):  # then DVC does not run here, and has not been killed
            file = held.enter_context((root / ".dvc" / "tmp" / "lock").open("rb"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
