"""Atomic writes, and digests of files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pipeline.base.disk import writing
from pipeline.base.folders import folder_of
from pipeline.formats import temporaries


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary sibling of ``target`` (file or folder) and rename it at the end.

    If the block raises, the sibling is removed and ``target`` stays. Leftovers of killed processes
    are removed by the next stage (:func:`remove_leftovers`).
    """
    temporary = temporaries.beside(target)
    with folder_of(target), writing(target):
        try:
            yield temporary
            _sync(temporary)
            if temporary.is_dir() and target.exists():
                discard(target)
            temporary.replace(target)
            _sync_folder(target.parent)
        except BaseException:
            remove(temporary)
            raise


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Hard-link a file, or copy it where that fails, as on another disk, or if it is a symbolic
    link.
    """
    try:
        if Path(source).is_symlink():
            raise OSError("not for this project to share")
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def discard(path: Path) -> None:
    """Remove a file or folder atomically."""
    temporary = temporaries.beside(path)
    path.rename(temporary)
    remove(temporary)


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def remove_leftovers(folder: Path, deep: bool = False) -> None:
    """Remove the temporary files of this machine's dead processes; ``deep`` in subfolders, too."""
    for path in temporaries.find(folder, deep):
        if temporaries.has_no_owner(path):
            with suppress(FileNotFoundError):  # another process does the same
                remove(path)


def _sync(path: Path) -> None:
    """Flush a file, or every file of a folder, to the disk."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())


def _sync_folder(folder: Path) -> None:
    """Flush a rename to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(target: Path, text: str) -> None:
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(target: Path, value: object) -> None:
    write_text(target, json_text(value))


def json_text(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def write_lines(target: Path, rows: Iterable[Mapping[str, object]]) -> None:
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


class AppendedLines:
    """Follows a growing JSON lines file, which need not exist yet; incomplete lines wait."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def new(self) -> Iterator[Any]:
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield json.loads(line)


def file_digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def folder_digests(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder by relative path, in sorted order."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def digest_of(value: object) -> str:
    """A digest of a JSON value, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
