"""The rows of files that commands read and write, one object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.evaluate.answers import as_choices, as_meta, named, whole_number
from pipeline.formats.tables import is_absent, read_table
from pipeline.tasks.example import AnswerKind
from pipeline.tom.parse.text import LONGEST_STORY

Row = dict[str, Any]
_KINDS = get_args(AnswerKind)
_OURS = {"completion": "response", "ground_truth": "answer"}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _kind(value: object) -> object:
    if value not in _KINDS:
        raise ValueError(value)
    return value


def _id(value: object) -> str | int:
    return value if isinstance(value, str) else whole_number(value)


_FORMS: Mapping[str, tuple[Callable[[object], object], str]] = {
    "id": (_id, "text or a whole number"),
    "answer_kind": (_kind, f"one of {', '.join(_KINDS)}"),
    "choices": (as_choices, "a list of texts"),
    "order": (whole_number, "a whole number"),
    "meta": (as_meta, "an object"),
}
"""(reader, description) by field; all others are text."""


def read_rows(
    source: Path, needed: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[str, Row]]:
    """Yield (place, row) of a table, its fields named by what they hold.

    Args:
        source: A table; see :func:`pipeline.formats.tables.read_table`.
        needed: Fields of text that every row must have.
        optional: Fields that are read where a row has them; an empty one is left out.

    Raises:
        UserError: At the first malformed row, by file and place; also if there is none.
    """
    place = None
    for place, given in read_table(source):
        where = f"{source}, {place}"
        row = named(source, given)
        row |= {name: row[thing] for name, thing in _OURS.items() if thing in row}
        for name in needed:
            if name not in row:
                raise UserError(f"{where}: the field {name!r} is missing; every row needs it")
        for name in (*needed, *optional):
            if name not in needed and is_absent(row.get(name)):
                row.pop(name, None)
                continue
            read, allowed = _FORMS.get(name, (_text, "text"))
            try:
                row[name] = read(row[name])
            except (ValueError, RecursionError):
                shown = type(row[name]).__name__
                shown = repr(row[name]) if isinstance(row[name], str) else shown
                raise UserError(
                    f"{where}: the field {name!r} must be {allowed}, found {shown}"
                ) from None
        yield place, row
    if place is None:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def read_stories(source: Path, *needed: str) -> Iterator[tuple[int, Row]]:
    """Yield (number from 1, row) of a table of stories, whose ids must differ."""
    first_with: dict[str, str] = {}
    rows = read_rows(source, needed, ("id", "choices"))
    for number, (place, row) in enumerate(rows, 1):
        check_length(f"{source}, {place}", row["story"])
        if "id" in row:
            earlier = first_with.setdefault(json.dumps(row["id"]), place)
            if earlier != place:
                raise UserError(f"{source}, {place}: id {row['id']!r} is already in {earlier}")
        yield number, row


def check_length(where: str, story: str) -> None:
    """Refuse a story far longer than any benchmark's."""
    if len(story) > LONGEST_STORY:
        raise UserError(
            f"{where}: the story has {len(story):,} characters; allowed: {LONGEST_STORY:,}"
        )


def write_rows(output: Path, rows: Iterable[Mapping[str, object]]) -> None:
    write_output(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
