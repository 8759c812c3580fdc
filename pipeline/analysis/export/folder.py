"""The folder of an export: there whole or not at all, and never anybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.formats.files import replacing

NOTE = "EXPORTED_BY_TOMRL.txt"
"""Stands in every exported folder; what has none is not replaced."""


@contextmanager
def exporting(target: Path, note: str, *, force: bool | None) -> Iterator[Path]:
    """Yield an empty folder that becomes ``target`` at the end, with a note of what it holds.

    Raises:
        UserError: If ``target`` is there, unless it is an export and ``force`` is set; None stands
            for a command that replaces nothing.
    """
    _check(target, force)
    with replacing(target) as folder:
        folder.mkdir()
        (folder / NOTE).write_text(f"{note}\n", encoding="utf-8")
        yield folder


def _check(target: Path, force: bool | None) -> None:
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UserError(f"{target}: {above} is not a folder; name another with --to")
    if not target.exists() and not target.is_symlink():
        return
    if target.is_dir() and not target.is_symlink():
        if not any(target.iterdir()) or (force and (target / NOTE).is_file()):
            return
        if (target / NOTE).is_file():
            way = "name a new folder with --to" if force is None else "replace it with --force"
            raise UserError(f"{target} holds an earlier export; {way}")
        raise UserError(
            f"{target} holds other files, which an export would replace; name a new folder with "
            "--to"
        )
    raise UserError(f"{target} is not a folder; name a new folder with --to")
