"""Unpack zip and tar archives that may be hostile.

Refused: paths that leave the folder, links, devices, encrypted members, two members of one name,
and archives beyond the limits. Sizes are counted while unpacking, since a header can lie.
"""

from __future__ import annotations

import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn, cast

from pipeline.base.errors import UserError

_CHUNK = 1 << 20
_FILE_TYPE, _SYMBOLIC_LINK = 0o170000, 0o120000
_GZIP_MAGIC = b"\x1f\x8b"
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on unpacked archives."""

    files: int = 10_000
    bytes: int = 1 << 30


DEFAULT_LIMITS = Limits()


def unpack(archive: Path, folder: Path, limits: Limits = DEFAULT_LIMITS) -> list[Path]:
    """Unpack an archive into a new folder, all of it or nothing; return the files in order.

    Raises:
        UserError: If the archive is damaged, unsafe or too large.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpack-") as scratch:
        writer = _Writer(archive, Path(scratch) / "files", limits)
        try:
            (_read_zip if zipfile.is_zipfile(archive) else _read_tar)(archive, writer)
        except _DAMAGE as error:
            raise UserError(
                f"{archive}: cannot be unpacked ({error}); if it is damaged, delete it and "
                f"acquire it again"
            ) from error
        writer.root.rename(folder)
    return [folder / name for name in writer.names]


def find_member(files: Sequence[Path], member: str) -> Path | None:
    """The one file whose path ends with ``member``, or None."""
    parts = PurePosixPath(member).parts
    found = [file for file in files if file.parts[-len(parts) :] == parts]
    return found[0] if len(found) == 1 else None


class _Writer:
    """Writes members below one folder, within the limits."""

    def __init__(self, archive: Path, root: Path, limits: Limits) -> None:
        self.archive, self.root, self.limits = archive, root, limits
        self.names: list[str] = []
        self._seen: set[str] = set()
        self._written = 0
        root.mkdir()

    def write(self, name: str, source: IO[bytes]) -> None:
        path = self._place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            while chunk := source.read(_CHUNK):
                self._written += len(chunk)
                if self._written > self.limits.bytes:
                    self.refuse(name, f"more than {self.limits.bytes:,} bytes unpacked")
                out.write(chunk)

    def refuse(self, name: str, why: str) -> NoReturn:
        raise UserError(f"{self.archive}: member {name!r} refused: {why}")

    def _place(self, name: str) -> Path:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or set(name) & set("\\:\0"):
            self.refuse(name, "its path leaves the folder")
        # Case folded, so that the outcome does not depend on the file system.
        key = str(path).casefold()
        if key in self._seen or not path.parts:
            self.refuse(name, "it has no name of its own")
        if len(self.names) >= self.limits.files:
            self.refuse(name, f"more than {self.limits.files:,} files")
        self._seen.add(key)
        self.names.append(str(path))
        return self.root / path


def _read_zip(archive: Path, writer: _Writer) -> None:
    with zipfile.ZipFile(archive) as pack:
        for info in pack.infolist():
            if info.is_dir():
                continue
            if (info.external_attr >> 16) & _FILE_TYPE == _SYMBOLIC_LINK:
                writer.refuse(info.filename, "it is a link")
            if info.flag_bits & 1:
                writer.refuse(info.filename, "it is encrypted")
            with pack.open(info) as member:
                writer.write(info.filename, member)


def _read_tar(archive: Path, writer: _Writer) -> None:
    with archive.open("rb") as file:
        gzipped = file.read(2) == _GZIP_MAGIC
    with cast(IO[bytes], gzip.open(archive)) if gzipped else archive.open("rb") as source:
        # Headers and padding are part of the stream: some blocks for each member.
        limit = writer.limits.bytes + 4096 * (writer.limits.files + 1)
        stream = cast(IO[bytes], _Bounded(source, limit, writer))
        with tarfile.open(fileobj=stream, mode="r|") as pack:
            for info in pack:
                if info.isdir():
                    continue
                member = pack.extractfile(info) if info.isreg() else None
                if member is None:
                    writer.refuse(info.name, "it is a link or a device")
                writer.write(info.name, member)


class _Bounded:
    """A stream that refuses to exceed its limit, whatever the tar's headers claim."""

    def __init__(self, source: IO[bytes], limit: int, writer: _Writer) -> None:
        self._source, self._limit, self._writer = source, limit, writer
        self._given = 0

    def read(self, size: int) -> bytes:
        chunk = self._source.read(size)
        self._given += len(chunk)
        if self._given > self._limit:
            self._writer.refuse("*", f"more than {self._limit:,} bytes unpacked")
        return chunk
