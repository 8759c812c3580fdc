"""Folders that are made for something, and do not outlast it where nothing came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder_of(path: Path) -> Iterator[None]:
    """Make the folder that a file is to lie in; those made are removed if they stay empty."""
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
