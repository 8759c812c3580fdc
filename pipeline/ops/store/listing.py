"""Listings: the records by which a remote of the artifact store knows an object's files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.formats.files import digest_of
from pipeline.formats.records import Record

PART_BYTES = 32 << 20
"""Size of the pieces that files are kept in."""


def _checked_path(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise ValueError(f"{path!r} leads out of its object")
    return path


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class FileListing(Record):
    """A file of an object.

    Attributes:
        path: Its place in the object.
        bytes: Its size.
        sha256: Of the whole file.
        parts: The sha256 of each piece, in order; all but the last have the listing's size.
    """

    path: Annotated[str, AfterValidator(_checked_path)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256
    parts: tuple[Sha256, ...]


class Listing(Record):
    """The files of an object.

    Attributes:
        part_bytes: Size of the pieces that files are kept in.
        files: In the order of their paths.
    """

    part_bytes: Annotated[int, Field(gt=0)]
    files: tuple[FileListing, ...]

    @property
    def digest(self) -> str:
        """Return the digest of the object that has these files."""
        return digest_of({file.path: file.sha256 for file in self.files})

    @property
    def bytes(self) -> int:
        """Return the size of the object."""
        return sum(file.bytes for file in self.files)

    @property
    def parts(self) -> Iterator[tuple[FileListing, int, str]]:
        """Yield every part: its file, where it begins there, and its sha256."""
        for file in self.files:
            for number, sha256 in enumerate(file.parts):
                yield file, number * self.part_bytes, sha256


def listing_of(folder: Path, part_bytes: int) -> Listing:
    """Return the listing of a folder that is or may become an object."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return Listing(
        part_bytes=part_bytes,
        files=tuple(_listed(path, path.relative_to(folder), part_bytes) for path in files),
    )


def _listed(path: Path, name: Path, part_bytes: int) -> FileListing:
    whole, parts, size = hashlib.sha256(), [], 0
    with path.open("rb") as handle:
        while piece := handle.read(part_bytes):
            whole.update(piece)
            parts.append(sha256_of(piece))
            size += len(piece)
    return FileListing(
        path=name.as_posix(), bytes=size, sha256=whole.hexdigest(), parts=tuple(parts)
    )


def sha256_of(content: bytes) -> str:
    """Return the digest that a part is kept under."""
    return hashlib.sha256(content).hexdigest()
