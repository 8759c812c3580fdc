"""The upstream files, pinned: address, digest, size and licence of every one.

The table itself is ``sources.json`` beside this file. Addresses name a commit, so that a download
can only ever be the file that was pinned; members of an archive carry the archive's address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.base.errors import UserError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One upstream file.

    Attributes:
        name: Its name in the source's folder.
        url: Where it is downloaded from; for an archive member, the archive's address.
        sha256: Digest of its bytes; None for a member that only its archive's digest covers.
        bytes: Its size, None where upstream publishes none.
        rows: How many of ``unit`` it holds, None for an archive without a count of its own.
        unit: What is counted, such as ``questions``.
        licence: Licence of the content as upstream states it.
        non_commercial: Whether the content may only be used non-commercially.
        evaluation_only: Whether the authors ask not to train on it.
        member: For a file inside an archive, its path (or the end of it) in there.
    """

    name: str
    url: str
    sha256: str | None
    bytes: int | None
    rows: int | None
    unit: str
    licence: str
    non_commercial: bool
    evaluation_only: bool
    member: str = ""

    @property
    def archive(self) -> str:
        """The name of the archive that holds the file, empty if it is one of its own."""
        return self.url.rsplit("/", 1)[-1] if self.member else ""


@dataclass(frozen=True, slots=True)
class Source:
    """One upstream source: a folder of files."""

    name: str
    title: str
    files: tuple[SourceFile, ...]
    optional: bool = False
    """Whether a study can do without it: what uses it says what it falls back on."""

    @property
    def non_commercial(self) -> bool:
        """Whether any file is limited to non-commercial use."""
        return any(file.non_commercial for file in self.files)

    @property
    def evaluation_only(self) -> bool:
        """Whether the authors of any file ask not to train on it."""
        return any(file.evaluation_only for file in self.files)

    @property
    def licences(self) -> tuple[str, ...]:
        """The licences of the files, each once."""
        return tuple(dict.fromkeys(file.licence for file in self.files))


def _read_table() -> Mapping[str, Source]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("sources.json").read_text("utf-8"))
    return MappingProxyType(
        {
            name: Source(
                name,
                entry["title"],
                tuple(SourceFile(**file) for file in entry["files"]),
                entry.get("optional", False),
            )
            for name, entry in table.items()
        }
    )


SOURCES: Mapping[str, Source] = _read_table()


def get_source(name: str) -> Source:
    """A source.

    Raises:
        UserError: If there is no such source; lists those there are.
    """
    try:
        return SOURCES[name]
    except KeyError:
        raise UserError(f"unknown source {name!r}; there are: {', '.join(SOURCES)}") from None
