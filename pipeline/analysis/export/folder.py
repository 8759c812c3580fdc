"""The folder of an export: there whole or not at all, and never anybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.formats.files import folder_digests, replacing

NOTE = "EXPORTED_BY_TOMRL.txt"
"""Stands in every exported folder, with the sha256 of each file of it.

A folder is replaced only where nothing else lies in it, and nothing was edited.
"""
_SHOWN = 3


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
        if force is not None:
            lines = (f"{digest}  {name}\n" for name, digest in _files(folder).items())
            (folder / NOTE).write_text("".join([f"{note}\n", *lines]), encoding="utf-8")


def _check(target: Path, force: bool | None) -> None:
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UserError(f"{target}: {above} is not a folder; name another with --to")
    if not target.exists() and not target.is_symlink():
        return
    if target.is_dir() and not target.is_symlink():
        if not any(target.iterdir()):
            return
        if force and (target / NOTE).is_file():
            if own := _not_exported(target):
                raise UserError(
                    f"{target} holds what no export wrote, or somebody edited: {own}; move it "
                    "away, or name a new folder with --to"
                )
            return
        if (target / NOTE).is_file():
            way = "name a new folder with --to" if force is None else "replace it with --force"
            raise UserError(f"{target} holds an earlier export; {way}")
        raise UserError(
            f"{target} holds other files, which an export would replace; name a new folder with "
            "--to"
        )
    raise UserError(f"{target} is not a folder; name a new folder with --to")


def _not_exported(target: Path) -> str:
    """What an export would lose with a folder: files that are not as an export wrote them."""
    lines = (target / NOTE).read_text(encoding="utf-8").splitlines()[1:]
    written = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    own = [name for name, digest in _files(target).items() if written.get(name) != digest]
    more = f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
    return ", ".join(own[:_SHOWN]) + more


def _files(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in folder_digests(folder).items() if name != NOTE}
