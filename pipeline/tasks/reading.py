"""Reading upstream's files row by row.

Nothing is skipped silently: the first malformed row raises a :class:`UserError` that names file and
row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NoReturn, TypeVar

from pipeline.base.errors import UserError
from pipeline.formats.tables import parse_json, read_table

Value = TypeVar("Value")


def _repair(where: str | Path) -> str:
    return f"acquire the source again{_command(where)}"


def _command(where: str | Path) -> str:
    """The command that acquires a study's file again; empty for other folders."""
    parts = PurePath(where).parts
    if "data" in parts and "raw" in parts[:-2]:
        return f": dvc repro --single-item --force acquire@{parts[parts.index('raw') + 1]}"
    return ""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A record and its location in a file."""

    where: str
    values: Mapping[str, object]

    def fail(self, why: str) -> NoReturn:
        raise UserError(f"{self.where}: {why}; {_repair(self.where)}")

    def get(self, key: str, *kinds: type[Value]) -> Value:
        """A value of one of the given types."""
        if key not in self.values:
            self.fail(f"field {key!r} is missing")
        value = self.values[key]
        # A bool is an int to Python, but not in a data file.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.fail(f"field {key!r} is {type(value).__name__}, which is the wrong type")
        return value

    def text(self, key: str) -> str:
        """A text that is not blank."""
        value = self.get(key, str)
        if not value.strip():
            self.fail(f"field {key!r} is blank")
        return value

    def one_of(self, key: str, allowed: Iterable[str]) -> str:
        value, allowed = self.text(key), tuple(allowed)
        if value not in allowed:
            self.fail(f"field {key!r} is {value[:80]!r}, not one of {', '.join(allowed)}")
        return value

    def integer(self, key: str) -> int:
        """A whole number, also where a file format stores it as 4.0."""
        value = self.get(key, int, float)
        if not math.isfinite(value) or value != int(value):
            self.fail(f"field {key!r} is {value}, not a whole number")
        return int(value)

    def flag(self, key: str) -> bool:
        return bool(self.get(key, bool))

    def inner(self, key: str) -> SourceRow:
        return SourceRow(f"{self.where}, {key}", self.get(key, dict))

    def rows(self, key: str) -> list[SourceRow]:
        values: list[object] = self.get(key, list)
        return [_as_row(value, f"{self.where}, {key}[{n}]") for n, value in enumerate(values)]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, possibly empty."""
        items: list[object] = self.get(key, list)
        texts = tuple(item for item in items if isinstance(item, str) and item.strip())
        if len(texts) < len(items):
            self.fail(f"field {key!r} is not a list of texts")
        return texts


def unique(rows: Iterable[SourceRow], key: str) -> Iterator[SourceRow]:
    """Yield the rows; a repeated upstream id is an error."""
    seen: dict[object, str] = {}
    for row in rows:
        value = row.get(key, str, int)
        if value in seen:
            row.fail(f"field {key!r} repeats {value!r} of {seen[value]}")
        seen[value] = row.where
        yield row


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 text file; only a line feed ends one."""
    with _acquired(path):
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: byte {error.start} is not UTF-8") from None
    return text.removesuffix("\n").split("\n")


def read_json(path: Path) -> object:
    """The content of a JSON file; duplicate keys are an error."""
    with _acquired(path):
        return parse_json(path, "", path.read_bytes())


def read_rows(path: Path, columns: Sequence[str] = ()) -> list[SourceRow]:
    """The rows of a file, read as :mod:`pipeline.formats.tables` says; all have the columns."""
    with _acquired(path):
        rows = [SourceRow(f"{path}, {where}", row) for where, row in read_table(path)]
    found = rows[0].values if rows else columns
    if missing := [name for name in columns if name not in found]:
        raise UserError(f"{path}: column {', '.join(missing)} missing; {_repair(path)}")
    return rows


@contextmanager
def _acquired(path: Path) -> Iterator[None]:
    """Read a file of a source; where it cannot be read, it is to be acquired again."""
    if not path.is_file():
        raise UserError(
            f"{path}: missing; acquire the source {path.parent.name!r} first{_command(path)}"
        )
    try:
        yield
    except UserError as error:
        raise UserError(f"{error}; {_repair(path)}") from None


def _as_row(value: object, where: str) -> SourceRow:
    if not isinstance(value, dict):
        raise UserError(f"{where}: {type(value).__name__} instead of a record; {_repair(where)}")
    return SourceRow(where, value)
