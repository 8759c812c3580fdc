"""Damage to the files of a checkout, undone afterwards, and every change that nobody asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.corpus.case import Damage

# A failed attempt is a fact that the tracking database and the stage's logs keep; git writes its
# index when asked.
_NOT_WATCHED = ("mlflow.db", "mlartifacts", "ended.json", "live.jsonl", ".git", "__pycache__")
State = dict[str, bytes | None]


class Watch:
    """Knows the bytes of every file of a checkout.

    A file whose inode, size and times are those of before is not read again: the time of the last
    change of an inode cannot be set.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def state(self) -> State:
        """The content of every file by its path; of a folder, None."""
        return dict(self._entries(self._root))

    def restore(self, before: State, after: State) -> None:
        """Undo what has changed, so that the next input finds what this one found."""
        for name in sorted({*before, *after}, reverse=True):
            if name not in before:
                _write(self._root / name, None)
            elif before[name] is not None and before[name] != after.get(name):
                _write(self._root / name, before[name])

    def _entries(self, folder: Path) -> Iterator[tuple[str, bytes | None]]:
        for path in sorted(folder.iterdir()):
            if path.name.startswith(_NOT_WATCHED):
                continue
            name = path.relative_to(self._root).as_posix()
            if path.is_dir():
                yield name, None
                yield from self._entries(path)
            else:
                yield name, self._content(name, path)

    def _content(self, name: str, path: Path) -> bytes:
        stat = path.lstat()
        stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            self._known[name] = stamp, path.read_bytes()
        return self._known[name][1]


@contextmanager
def damaged(root: Path, damages: Mapping[str, Damage]) -> Iterator[None]:
    """Damage files of a checkout, and restore them afterwards."""
    before = {path: _read(path) for name in damages for path in _found(root, name)}
    try:
        for name, damage in damages.items():
            for path in _found(root, name):
                _write(path, damage(before[path] or b""))
        yield
    finally:
        for path, content in before.items():
            _write(path, content)


def _found(root: Path, name: str) -> list[Path]:
    if "*" not in name:
        return [root / name]
    found = sorted(root.glob(name))
    assert found, f"{name} is not in {root}"
    return found


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(path: Path, content: bytes | None) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)  # DVC's cache may have the same file, which is read-only
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
