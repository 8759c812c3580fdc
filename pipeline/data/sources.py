"""Pinned upstream files: address, digest, size and licence.

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
        name: File name in the source's folder.
        url: Its address; for an archive member, the archive's address.
        sha256: None for a member that only its archive's digest covers.
        bytes: None where upstream publishes no size.
        rows: Number of ``unit``; None for an archive without a count of its own.
        non_commercial: Only non-commercial use is allowed.
        evaluation_only: The authors ask not to train on it.
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
        """The archive that holds the file; empty for a plain file."""
        return self.url.rsplit("/", 1)[-1] if self.member else ""


@dataclass(frozen=True, slots=True)
class Source:
    """One upstream source: a folder of files."""

    name: str
    title: str
    files: tuple[SourceFile, ...]
    optional: bool = False
    """A study can do without it; users of the source have a fallback."""

    @property
    def non_commercial(self) -> bool:
        return any(file.non_commercial for file in self.files)

    @property
    def evaluation_only(self) -> bool:
        return any(file.evaluation_only for file in self.files)

    @property
    def licences(self) -> tuple[str, ...]:
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
    """A source; UserError for an unknown one."""
    try:
        return SOURCES[name]
    except KeyError:
        raise UserError(f"unknown source {name!r}; there are: {', '.join(SOURCES)}") from None
