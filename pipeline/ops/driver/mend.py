"""Files of DVC that it was killed in writing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import yaml

_SECONDS_TO_WRITE = 1.0


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
