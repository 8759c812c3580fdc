"""Where the pipeline writes, and what killed processes left half-written there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.base.home import home_of
from pipeline.formats import temporaries
from pipeline.formats.files import remove_leftovers

MADE = ("code", "data", "runs", "logs", "reports", "weights", "work")
"""Folders of a checkout that hold only what the pipeline makes."""


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


def _places(root: Path) -> list[tuple[Path, bool]]:
    """Folders, and whether those below them are meant too."""
    shared = {root, home_of(root)}
    return [*((root / name, True) for name in MADE), *((path, False) for path in sorted(shared))]
