"""Files of answers that somebody recorded: JSON lines, parquet, or CSV as its authors left it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from pipeline.base.errors import UserError
from pipeline.tasks import registry
from pipeline.tasks.example import AnswerKind, Example
from pipeline.tom.parse.text import without_options
from pipeline.tom.solve import split_choices

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "story": ("story",),
    "question": ("question",),
    "choices": ("choices",),
    "answer": ("answer", "ground_truth"),
    "order": ("order", "question_order"),
    "question_type": ("question_type",),
    "answer_kind": ("answer_kind",),
    "meta": ("meta",),
    "response": ("response", "model_answer", "completion"),
}
"""What a column or field may be called, by what it holds; the first name found counts."""

_KINDS = get_args(AnswerKind)

LONGEST_FIELD = 1 << 20
"""Characters; the longest conversation of a benchmark has about 20,000."""

_ENCODINGS = ("utf-8-sig", "cp1252")


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question and what somebody answered.

    Attributes:
        id: Its id in the file; the number of its row where the file has none.
        example: The question.
        response: The whole answer.
    """

    id: str
    example: Example
    response: str


def read_answers(path: Path, task: registry.Task, needed: Sequence[str]) -> list[AnsweredQuestion]:
    """Read a file of answers to questions of a task.

    Args:
        path: ``.jsonl``, ``.parquet``, or ``.csv`` in UTF-8, UTF-16 with a mark, or Windows' code
            page 1252.
        task: Whose questions they are.
        needed: Which of ``NAMES`` every row must have.

    Raises:
        UserError: If the file is missing, of another kind, damaged, without a field that is needed,
            or has an id twice; by file and row.
    """
    rows = list(read_rows(path))
    if not rows:
        raise UserError(f"{path} holds no answers; write one row for each answer")
    columns = _columns(path, rows[0][1], needed)
    answers = [_answered(path, where, row, columns, task) for where, row in rows]
    _refuse_repeats(path, [a.id for a in answers])
    return answers


def read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place in the file, row) of JSON lines, parquet or CSV.

    Raises:
        UserError: If the file is missing, of another kind, or damaged.
    """
    kinds = {".jsonl": _json_rows, ".json": _json_rows, ".csv": _csv_rows}
    if path.suffix == ".parquet":
        yield from _parquet_rows(path)
        return
    if path.suffix not in kinds:
        allowed = ", ".join([*kinds, ".parquet"])
        raise UserError(f"{path}: a file of this kind is not read; allowed: {allowed}")
    yield from kinds[path.suffix](path, _text(path))


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UserError(f"{path}: neither UTF-8, UTF-16 nor code page 1252; convert it to UTF-8")


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"line {number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, {where}: not valid JSON ({error})") from None
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise UserError(f"{path}, {where}: expected a JSON object, found {kind}")
            yield where, row


def _csv_rows(path: Path, text: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return all rows at once: the limit of a field holds for the whole process."""
    before = csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    try:
        return list(_rows_of_csv(path, text))
    finally:
        csv.field_size_limit(before)


def _rows_of_csv(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{path}, {where}: more or fewer fields than the header has")
            yield where, row
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV ({error})") from None


def _parquet_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        records = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a readable parquet file ({error})") from None
    yield from ((f"row {number}", row) for number, row in enumerate(records, 1))


def _columns(path: Path, row: Mapping[str, Any], needed: Sequence[str]) -> dict[str, str]:
    """Return what the file calls each thing that it holds."""
    found = {
        thing: name for thing, names in NAMES.items() for name in reversed(names) if name in row
    }
    if missing := [thing for thing in needed if thing not in found]:
        wanted = "; ".join(f"{thing}: {' or '.join(NAMES[thing])}" for thing in missing)
        raise UserError(
            f"{path}: found the columns {', '.join(map(str, row))}; missing: {wanted}; rename "
            "the columns, or name another file"
        )
    return found


def _answered(
    path: Path, where: str, row: Mapping[str, Any], columns: dict[str, str], task: registry.Task
) -> AnsweredQuestion:
    def text(thing: str) -> str:
        value = row.get(columns[thing]) if thing in columns else ""
        if not isinstance(value, str):
            kind = type(value).__name__
            raise UserError(f"{path}, {where}: {columns[thing]} must be text, found {kind}")
        if len(value) > LONGEST_FIELD:
            raise UserError(
                f"{path}, {where}: {columns[thing]} has {len(value):,} characters; allowed: "
                f"{LONGEST_FIELD:,}"
            )
        return value

    given = row.get(columns.get("id", ""))
    kind = text("answer_kind") or "span"
    if kind not in _KINDS:
        allowed = ", ".join(_KINDS)
        raise UserError(f"{path}, {where}: answer_kind is {kind!r}; allowed: {allowed}")
    example = Example(
        benchmark=task.benchmark,
        task=task.name,
        story=text("story").strip(),
        question=without_options(text("question")),
        answer=text("answer"),
        choices=_choices(path, where, row.get(columns.get("choices", ""))),
        order=_order(path, where, row.get(columns.get("order", ""))),
        question_type=text("question_type"),
        answer_kind=cast(AnswerKind, kind),
        meta=_meta(path, where, row.get(columns.get("meta", ""))),
    )
    held = {thing: row.get(name) for thing, name in columns.items()} | {"meta": example.meta}
    try:
        refuse_missing(held, task.reads(example), f"grading {task.name}")
    except UserError as error:
        raise UserError(f"{path}, {where}: {error}") from None
    return AnsweredQuestion(where if given is None else str(given), example, text("response"))


def refuse_missing(row: Mapping[str, Any], names: Iterable[str], reader: str) -> None:
    """Refuse a row that lacks a field; ``meta.NAME`` is one under ``meta``.

    Raises:
        UserError: Names the field, and what reads it.
    """
    for name in names:
        section, _, inner = name.rpartition(".")
        held = row.get(section, {}) if section else row
        if held.get(inner) is None:
            raise UserError(f"the field {name!r} is missing; {reader} needs it")


def _choices(path: Path, where: str, value: object) -> tuple[str, ...] | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return split_choices(value)
    if isinstance(value, list) and all(isinstance(choice, str) for choice in value):
        return split_choices(value)
    raise UserError(f"{path}, {where}: choices must be texts, found {type(value).__name__}")


def _meta(path: Path, where: str, value: object) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UserError(f"{path}, {where}: meta must be an object")
    return found


def _order(path: Path, where: str, value: object) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(str(value))
    except ValueError:
        raise UserError(f"{path}, {where}: order must be a whole number, found {value!r}") from None


def _refuse_repeats(path: Path, ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise UserError(f"{path}: the id {name!r} occurs twice; an id names one answer")
        seen.add(name)
