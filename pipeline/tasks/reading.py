"""Reading upstream's files row by row.

Nothing is skipped silently: the first malformed row raises a :class:`UserError` that names file and
row.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NoReturn, TypeVar

from pipeline.base.errors import UserError

LARGEST_FILE = 256 << 20
LARGEST_TEXT = 1 << 20  # the longest text in any benchmark is a conversation of about 20,000
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
        """A text that is neither blank nor absurdly long."""
        value = self.get(key, str)
        if not value.strip():
            self.fail(f"field {key!r} is blank")
        if len(value) > LARGEST_TEXT:
            self.fail(f"field {key!r} has {len(value):,} characters, at most {LARGEST_TEXT:,}")
        return value

    def one_of(self, key: str, allowed: Iterable[str]) -> str:
        value, allowed = self.text(key), tuple(allowed)
        if value not in allowed:
            self.fail(f"field {key!r} is {value[:80]!r}, not one of {', '.join(allowed)}")
        return value

    def integer(self, key: str, allowed: range | None = None) -> int:
        """A whole number, also where a file format stores it as 4.0."""
        value = self.get(key, int, float)
        if not math.isfinite(value) or value != int(value):
            self.fail(f"field {key!r} is {value}, not a whole number")
        if allowed is not None and int(value) not in allowed:
            self.fail(f"field {key!r} is {value}, not in {allowed.start}..{allowed.stop - 1}")
        return int(value)

    def flag(self, key: str) -> bool:
        return bool(self.get(key, bool))

    def inner(self, key: str) -> SourceRow:
        return SourceRow(f"{self.where}, {key}", self.get(key, dict))

    def rows(self, key: str) -> list[SourceRow]:
        return _as_rows(self.get(key, list), f"{self.where}, {key}[{{}}]", start=0)

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
    return _read_text(path).removesuffix("\n").split("\n")


def read_json(path: Path) -> object:
    """The content of a JSON file; duplicate keys are an error."""
    return _parse_json(_read_text(path), str(path))


def read_json_rows(path: Path, key: str | None = None) -> list[SourceRow]:
    """The objects of a JSON list, at top level or under ``key``."""
    content = read_json(path)
    if key is not None:
        content = SourceRow(str(path), content if isinstance(content, dict) else {}).get(key, list)
    if not isinstance(content, list):
        raise UserError(f"{path}: holds {type(content).__name__}, not a list; {_repair(path)}")
    return _as_rows(content, f"{path}, record {{}}")


def read_jsonl(path: Path) -> list[SourceRow]:
    lines = enumerate(_read_text(path).split("\n"), 1)
    places = [(f"{path}, line {number}", line) for number, line in lines if line.strip()]
    content = [(where, _parse_json(line, where)) for where, line in places]
    return [_as_row(value, where) for where, value in content]


def read_csv(path: Path, columns: Sequence[str]) -> list[SourceRow]:
    """The rows of a CSV file, all values as text."""
    reader = csv.DictReader(io.StringIO(_read_text(path), newline=""), strict=True)
    rows = []
    try:
        _require_columns(path, columns, reader.fieldnames or ())
        for values in reader:
            row = SourceRow(f"{path}, line {reader.line_num}", values)
            if None in values or None in values.values():
                row.fail("it has more or fewer fields than the header")
            rows.append(row)
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}; {_repair(path)}") from error
    return rows


def read_parquet(path: Path, columns: Sequence[str]) -> list[SourceRow]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    _require_file(path)
    try:
        _require_columns(path, columns, pq.read_schema(path).names)
        records = pq.read_table(path, columns=list(columns)).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: not a readable parquet file ({error}); {_repair(path)}"
        ) from error
    return _as_rows(records, f"{path}, row {{}}")


def read_xlsx(path: Path, columns: Sequence[str]) -> list[SourceRow]:
    """The rows of a workbook's first sheet."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    _require_file(path)
    rows = []
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        lines = book.worksheets[0].iter_rows(values_only=True)
        header = [str(name) for name in next(lines, ())]
        _require_columns(path, columns, header)
        for number, line in enumerate(lines, 2):
            rows.append(SourceRow(f"{path}, row {number}", dict(zip(header, line, strict=False))))
        book.close()
    except (zipfile.BadZipFile, OSError, KeyError, ValueError, SyntaxError, IndexError) as error:
        raise UserError(f"{path}: not a readable workbook ({error}); {_repair(path)}") from error
    return rows


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(
            f"{path}: missing; acquire the source {path.parent.name!r} first{_command(path)}"
        )
    if path.stat().st_size > LARGEST_FILE:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes, at most {LARGEST_FILE:,}")


def _require_columns(path: Path, wanted: Iterable[str], found: Iterable[str]) -> None:
    if missing := [name for name in wanted if name not in tuple(found)]:
        raise UserError(f"{path}: column {', '.join(missing)} missing; {_repair(path)}")


def _read_text(path: Path) -> str:
    _require_file(path)
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: not UTF-8 ({error.reason}); {_repair(path)}"
        ) from error


def _parse_json(text: str, where: str) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=_without_repeats)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.start + 1]
        why = f"it holds {half!r}, half of a surrogate pair, which no text file can hold"
        raise UserError(f"{where}: {why}; {_repair(where)}") from error
    except RecursionError as error:
        raise UserError(f"{where}: nested too deeply; {_repair(where)}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{where}: not JSON ({error.msg}, {place}); {_repair(where)}") from error
    except ValueError as error:
        raise UserError(f"{where}: {error}; {_repair(where)}") from error


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key in times if times[key] > 1)
        raise ValueError(f"key {twice[:80]!r} occurs twice")
    return record


def _as_rows(records: Sequence[object], place: str, start: int = 1) -> list[SourceRow]:
    return [_as_row(value, place.format(n)) for n, value in enumerate(records, start)]


def _as_row(value: object, where: str) -> SourceRow:
    if not isinstance(value, dict):
        raise UserError(f"{where}: {type(value).__name__} instead of a record; {_repair(where)}")
    return SourceRow(where, value)
