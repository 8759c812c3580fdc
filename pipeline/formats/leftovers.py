"""Folders that the pipeline writes, and leftovers of killed processes there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.base.home import home_of
from pipeline.formats import temporaries
from pipeline.formats.files import remove_leftovers

MADE = ("code", "data", "runs", "logs", "reports", "weights", "work")
"""Folders of a checkout with nothing but products of the pipeline."""


def remove_leftovers_of(root: Path) -> None:
    """Remove temporary files whose process on this machine is certainly dead."""
    for folder, deep in _places(root):
        remove_leftovers(folder, deep)


def ownerless(root: Path) -> Iterator[Path]:
    """Yield temporary files without a known living owner; another machine may be writing some."""
    for folder, deep in _places(root):
        for path in temporaries.find(folder, deep):
            if not temporaries.has_owner(path):
                yield path


def _places(root: Path) -> list[tuple[Path, bool]]:
    """(folder, recursive)."""
    shared = {root, home_of(root)}
    return [*((root / name, True) for name in MADE), *((path, False) for path in sorted(shared))]
