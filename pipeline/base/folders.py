"""Folders that are removed again if they stay empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder_of(path: Path) -> Iterator[None]:
    """Make the parent folders of a file; new ones are removed if they stay empty."""
    made = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for folder in made:
            try:
                folder.rmdir()
            except OSError:  # something lies in it, or somebody else has removed it
                break
