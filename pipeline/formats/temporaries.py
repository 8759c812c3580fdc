"""Temporary files and folders with their owner in the name, so that those of the dead can be
removed.

Names, ``.NAME.PLACE-PROCESS-BEGAN-RANDOM.tmp``, hold id and start of the writing process, and the
place where these are unique: a space of process ids during one boot of one machine. The state of
processes elsewhere is unknown.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil

from pipeline.base.processes import began, lives, space

_NAME = re.compile(r"\..+\.([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{8}\.tmp", re.DOTALL)
_LONGEST = 150  # bytes of a name that are kept; file systems take 255


def beside(target: Path) -> Path:
    """A name for this process's temporary sibling of a file or folder."""
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST])
    process = f"{_place()}-{os.getpid()}-{began(os.getpid()) or 0}"
    return target.with_name(f".{name}.{process}-{uuid4().hex[:8]}.tmp")


def is_temporary(path: Path) -> bool:
    """A path is named like a temporary file, of this or an earlier release."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def has_no_owner(path: Path) -> bool:
    """The owner of a temporary file is certainly dead."""
    found = _NAME.fullmatch(path.name)
    return found is not None and found[1] == _place() and not lives(int(found[2]), int(found[3]))


def has_owner(path: Path) -> bool:
    """The owner of a temporary file is certainly alive."""
    found = _NAME.fullmatch(path.name)
    return found is not None and found[1] == _place() and lives(int(found[2]), int(found[3]))


def find(folder: Path, deep: bool = True) -> Iterator[Path]:
    """Yield the outermost temporary files and folders in a folder, which need not exist."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for entry in entries:
        path = Path(entry.path)
        if is_temporary(path):
            yield path
        elif deep and entry.is_dir(follow_symlinks=False):
            yield from find(path)


@cache
def _place() -> str:
    """8 digits that identify the space of this machine's process ids."""
    place = space() or f"{int(psutil.boot_time())} {platform.node()}"
    return hashlib.sha256(place.encode()).hexdigest()[:8]
