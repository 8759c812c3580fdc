"""Tables that people have: JSON lines, JSON, CSV, Excel, parquet, logs of other tools, row by row.

Columns are identified by name, never by position: pandas' unnamed index is ignored. Ambiguous
content is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from numbers import Real
from pathlib import Path
from typing import IO, Any

from pipeline.base.errors import UserError
from pipeline.formats.other_logs import INSPECT, OtherTool, eval_rows

Row = tuple[str, Mapping[str, Any]]
"""(place in the file, values by column)."""

LONGEST_FIELD = 1 << 20
"""Characters; the longest conversation of a benchmark has about 20,000."""

STANDARD_INPUT = Path("-")
_ENCODINGS = ("utf-8-sig", "cp1252")  # of CSV; JSON is UTF-8
_SAID = re.compile(r"\ufeff?sep=(.)", re.IGNORECASE)
_TEXTS = (".txt", ".md")
_PART, _ROWS = 1 << 20, 1000
"""Bytes and rows per read."""


def read_table(path: Path) -> Iterator[Row]:
    """Yield (place in the file, row) lazily.

    Args:
        path: ``.jsonl`` or ``.ndjson``, ``.json`` (a list of objects, pandas' ``to_json``, or JSON
            lines), ``.csv`` or ``.tsv`` in UTF-8, UTF-16 with a mark, or Windows' code page 1252,
            ``.parquet``, the first sheet of an ``.xlsx``, or a log of Inspect, ``.eval``. What has
            no ending, a pipe or ``-``, is JSON lines. A folder has a text file for each response,
            named by its id.

    Raises:
        UserError: If the file is missing, of another kind, or damaged.
    """
    if holds_texts(path):
        yield from _folder(path)
        return
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise UserError(
            f"{path}: a file of this kind is not read; allowed: {', '.join(filter(None, _KINDS))}"
        )
    try:
        with _opened(path) as file:
            known = OtherTool(path)
            for where, row in _KINDS[kind](path, file):
                if (not row or not all(map(is_absent, row.values()))) and known.is_new(row):
                    yield where, known.read(where, row)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def holds_texts(path: Path) -> bool:
    return path.is_dir() and any(_texts(path))


def _texts(path: Path) -> Iterator[Path]:
    return (each for kind in _TEXTS for each in path.rglob(f"*{kind}"))


def _folder(path: Path) -> Iterator[Row]:
    """A row for each text file of a folder: its response, and the id that its name is."""
    for file in sorted(_texts(path)):
        name = file.relative_to(path)
        try:
            yield str(name), {"id": str(name.with_suffix("")), "response": file.read_text("utf-8")}
        except UnicodeDecodeError as error:
            raise UserError(f"{file}: byte {error.start} is not UTF-8; convert the file") from None


def is_absent(value: object) -> bool:
    """A field is empty: pandas writes a missing number as NaN.

    Rows of nothing else, as Excel leaves them, are dropped.
    """
    if isinstance(value, Real):
        return value != value
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return value is None or (isinstance(value, str) and not value)


def is_table(path: Path) -> bool:
    return bool(path.suffix) and path.suffix.lower() in _KINDS


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file or a pipe, which cannot be read twice."""
    if path == STANDARD_INPUT:
        yield io.BytesIO(sys.stdin.buffer.read())
        return
    with path.open("rb") as file:
        yield file if file.seekable() else io.BytesIO(file.read())


def _json_lines(path: Path, file: IO[bytes]) -> Iterator[Row]:
    for number, line in enumerate(_lines(file), 1):
        if line.strip():
            where = f"line {number}"
            yield where, _object(path, where, parse_json(path, where, line))


def _lines(file: IO[bytes]) -> Iterable[bytes]:
    """The lines of a file as UTF-8, without a byte order mark; only a line feed ends one."""
    marked = file.read(3)
    file.seek(0)
    if marked[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        text = file.read().decode("utf-16", "surrogatepass")
        return (line.encode("utf-8", "surrogatepass") for line in text.split("\n"))
    if marked == codecs.BOM_UTF8:
        file.seek(3)
    return file


def _json(path: Path, file: IO[bytes]) -> Iterator[Row]:
    """Rows of JSON in any form that a file of this name may have."""
    lines = chain.from_iterable([_lines(file)])
    first = next((line for line in lines if line.strip()), b"")
    file.seek(0)
    if first.lstrip()[:1] == b"{" and _is_row(first):
        yield from _json_lines(path, file)
        return
    text = b"".join(_lines(file))
    if not text.strip():
        return
    for number, value in enumerate(_records(path, parse_json(path, "", text)), 1):
        yield f"record {number}", _object(path, f"record {number}", value)


def _is_row(line: bytes) -> bool:
    """A line is an object of JSON lines, not one of columns."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not _holds_columns(value)


def _holds_columns(value: Mapping[str, Any]) -> bool:
    return bool(value) and (
        all(isinstance(each, dict) for each in value.values())
        or isinstance(value.get("data"), list)
        or INSPECT in value
    )


def _records(path: Path, value: object) -> Iterable[object]:
    """The rows of a whole document: a list, or what pandas and Inspect write."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        if isinstance(value.get(INSPECT), list):
            return list(value[INSPECT])
        if isinstance(data := value.get("data"), list):
            names = value.get("columns")  # pandas' "split"; without them, "table"
            return [dict(zip(names, row, strict=True)) for row in data] if names else data
        columns = list(value.values())
        if columns and all(isinstance(each, dict) for each in columns):  # pandas' "columns"
            index = list(columns[0])
            if all(list(each) == index for each in columns):
                return [{name: value[name][place] for name in value} for place in index]
        elif columns:
            return [value]
    raise UserError(
        f"{path}: found JSON that is not a table; write a list of objects, or one object a line"
    )


def parse_json(path: Path, where: str, data: bytes) -> object:
    """The value of a JSON text, ``where`` in a file; UserError for a key that occurs twice."""
    place = f"{path}, {where}" if where else str(path)
    try:
        text = data.decode()
        value: object = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeDecodeError as error:
        raise UserError(f"{place}: byte {error.start} is not UTF-8; convert the file") from None
    except UnicodeEncodeError:
        raise UserError(
            f"{place}: holds half of a surrogate pair (\\ud800 to \\udfff), which no text file can "
            "hold; remove or complete it"
        ) from None
    except _KeyTwice as error:
        raise UserError(f"{place}: {error}; remove or rename one") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not valid JSON ({error})") from None


class _KeyTwice(Exception):
    """An ambiguous object with a duplicate key."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise _KeyTwice(f"the field {name[:80]!r} appears twice in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats)


def _object(path: Path, where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise UserError(f"{path}, {where}: expected a JSON object, found {kind}")
    return value


def _csv(path: Path, file: IO[bytes]) -> Iterator[Row]:
    """Yield rows in batches: the limit of a field holds for the whole process."""
    text = io.TextIOWrapper(file, _encoding(path, file), newline="")
    rows = _rows_of_csv(path, text, _delimiter(text))
    while batch := _with_long_fields(rows):
        yield from batch


def _delimiter(text: IO[str]) -> str:
    """The delimiter of the first line: a comma, else a tab or a semicolon.

    A line ``sep=;`` before it, as for Excel, is read, too.
    """
    head = text.readline()
    if said := _SAID.fullmatch(head.strip()):
        return said[1]
    text.seek(0)
    return next((sign for sign in ",\t;" if sign in head), ",")


def _encoding(path: Path, file: IO[bytes]) -> str:
    """The encoding of a file, which is rewound."""
    marked = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    allowed = ("utf-16",) if marked else _ENCODINGS
    found = next((each for each in allowed if _fits(each, file)), None)
    if found is None:
        raise UserError(f"{path}: neither UTF-8, UTF-16 nor code page 1252; convert it to UTF-8")
    file.seek(0)
    return found


def _fits(encoding: str, file: IO[bytes]) -> bool:
    """All of a file can be decoded."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while part := file.read(_PART):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _with_long_fields(rows: Iterator[Row]) -> list[Row]:
    before = csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    try:
        return list(islice(rows, _ROWS))
    finally:
        csv.field_size_limit(before)


def _rows_of_csv(path: Path, text: IO[str], delimiter: str) -> Iterator[Row]:
    reader = csv.DictReader(text, delimiter=delimiter, strict=True)
    try:
        _refuse_twice(path, [name for name in reader.fieldnames or () if name])
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{path}, {where}: more or fewer fields than the header has")
            row.pop("", None)  # pandas' index
            yield where, row
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV ({error})") from None


def _refuse_twice(path: Path, names: list[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"{path}: the column {twice[0]!r} occurs twice; rename or remove one")


def _parquet(path: Path, file: IO[bytes]) -> Iterator[Row]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        table = pq.ParquetFile(file)
        _refuse_twice(path, table.schema_arrow.names)
        batches = (batch.to_pylist() for batch in table.iter_batches(_ROWS))
        for number, row in enumerate(chain.from_iterable(batches), 1):
            yield f"row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a readable parquet file ({error})") from None


def _excel(path: Path, file: IO[bytes]) -> Iterator[Row]:
    """The rows of the first sheet, whose first row names the columns."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    try:
        rows = load_workbook(file, read_only=True, data_only=True).worksheets[0].values
        names = [None if name is None else str(name) for name in next(rows, ())]
        _refuse_twice(path, [name for name in names if name])
        for number, values in enumerate(rows, 2):
            yield f"row {number}", {n: v for n, v in zip(names, values, strict=True) if n}
    except UserError:
        raise
    except Exception as error:  # a packed file can be damaged in any way
        raise UserError(f"{path}: not a readable Excel workbook ({error})") from None


_KINDS: Mapping[str, Callable[[Path, IO[bytes]], Iterator[Row]]] = {
    "": _json_lines,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".xlsx": _excel,
    ".eval": eval_rows,
}
