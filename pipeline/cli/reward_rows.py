"""The input rows of ``tomrl reward score``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pipeline.base.errors import UserError
from pipeline.evaluate.answers import (
    as_choices,
    as_meta,
    named,
    refuse_missing,
    whole_number,
)
from pipeline.formats.tables import is_absent, read_table
from pipeline.reward.reward import Preset
from pipeline.tasks import registry
from pipeline.tasks.example import AnswerKind, Example

Row = Mapping[str, Any]
_NEEDED = ("completion", "ground_truth")
_KINDS = get_args(AnswerKind)
_MISSING = object()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_read_by(read: Callable[[object], object]) -> Callable[[object], bool]:
    """A predicate: a value is accepted by a reader."""

    def is_read(value: object) -> bool:
        try:
            read(value)
        except (ValueError, RecursionError):
            return False
        return True

    return is_read


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **{name: (_is_text, "text") for name in (*_NEEDED, "task", "benchmark", "story", "question")},
    "question_type": (_is_text, "text"),
    "answer_kind": (lambda value: value in _KINDS, f"one of {', '.join(_KINDS)}"),
    "choices": (_is_read_by(as_choices), "a list of texts"),
    "order": (_is_read_by(whole_number), "a whole number"),
    "meta": (_is_read_by(as_meta), "an object"),
}
"""(predicate, description) by field; all but the first two are optional."""

OPTIONAL = tuple(name for name in _FIELDS if name not in _NEEDED)


def read_rows(source: Path, default_task: str, preset: Preset) -> Iterator[tuple[str, Example]]:
    """Yield completions with the examples that grade them.

    Args:
        source: A table; see :func:`pipeline.formats.tables.read_table`.
        default_task: The task of rows without one.
        preset: The reward, which may read further fields.

    Raises:
        UserError: At the first malformed row, by file and place, with the missing field.
    """
    found = False
    for where, given in read_table(source):
        found = True
        try:
            yield _read(_named(source, given), default_task, preset)
        except UserError as error:
            raise UserError(f"{source}, {where}: {error}") from None
    if not found:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def _named(source: Path, given: Row) -> Row:
    row = named(source, given)
    ours = {"completion": "response", "ground_truth": "answer"}
    return row | {name: row[thing] for name, thing in ours.items() if thing in row}


def _read(given: Row, default_task: str, preset: Preset) -> tuple[str, Example]:
    row = _checked(given)
    task = registry.get(row.get("task", default_task))
    example = _example(row, task)
    refuse_missing(row, task.reads(example), f"grading this row of {task.name}")
    refuse_missing(row, preset.reads, "this reward")
    return row["completion"], example


def _checked(given: Row) -> Row:
    """A row with fields of the right types, without empty ones."""
    row = {name: value for name, value in given.items() if name in _NEEDED or not is_absent(value)}
    for name in _NEEDED:
        if name not in row:
            raise UserError(f"the field {name!r} is missing; every row needs it")
    for name, (is_right, allowed) in _FIELDS.items():
        value = row.get(name, _MISSING)
        if value is not _MISSING and not is_right(value):
            found = repr(value) if _is_text(value) else type(value).__name__
            raise UserError(f"the field {name!r} must be {allowed}, found {found}")
    return row


def _example(row: Row, task: registry.Task) -> Example:
    return Example(
        benchmark=row.get("benchmark", task.benchmark),
        task=task.name,
        story=row.get("story", ""),
        question=row.get("question", ""),
        answer=row["ground_truth"],
        answer_kind=row.get("answer_kind", "span"),
        choices=as_choices(row.get("choices")),
        order=None if row.get("order") is None else whole_number(row["order"]),
        question_type=row.get("question_type", ""),
        meta=as_meta(row.get("meta")),
        story_id="-",
        id="-",
    )
