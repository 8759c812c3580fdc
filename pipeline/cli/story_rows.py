"""Input and output rows of ``tomrl tom``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Required, TypedDict, cast

from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.evaluate.answers import as_choices, name_of, named
from pipeline.formats.tables import read_table
from pipeline.tom.parse.text import LONGEST_STORY


class InputRow(TypedDict, total=False):
    """A line of an input file, with the needed fields checked."""

    id: str | int
    story: Required[str]
    question: str
    answer: str
    response: str
    choices: list[str] | str | None
    order: int | None
    question_type: str


def read_rows(source: Path, *needed: str) -> Iterator[tuple[int, InputRow]]:
    """Yield (number from 1, row) of a table whose ``needed`` fields must be text."""
    first_with: dict[str, str] = {}
    number = 0
    for number, (place, given) in enumerate(read_table(source), 1):
        where = f"{source}, {place}"
        row = _checked(where, _in_usual_form(where, named(source, given)), needed)
        if "id" in row:
            earlier = first_with.setdefault(json.dumps(row["id"]), place)
            if earlier != place:
                raise UserError(f"{where}: id {row['id']!r} is already in {earlier}")
        yield number, row
    if not number:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def decoded(where: Path | str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: byte {error.start} is not UTF-8; convert the file") from None


def _in_usual_form(where: str, row: dict[str, object]) -> dict[str, object]:
    """A row whose id, if any, is text or an integer, and whose choices are texts."""
    try:
        name = name_of(row.get("id"))
    except ValueError:
        raise UserError(f"{where}: the field 'id' must be text or a whole number") from None
    if name is None:
        row.pop("id", None)
    elif isinstance(row["id"], float):
        row["id"] = int(name)
    try:
        choices = as_choices(row.get("choices"))
    except ValueError:
        raise UserError(
            f"{where}: the field 'choices' must be a list of texts, or one text"
        ) from None
    if str(row.get("choices")).startswith("["):
        row["choices"] = list(choices or ())
    return row


def _checked(where: str, row: Mapping[str, object], needed: Iterable[str]) -> InputRow:
    for name in needed:
        if name not in row:
            raise UserError(f"{where}: the field {name!r} is missing; needed: {', '.join(needed)}")
        if not isinstance(row[name], str):
            kind = type(row[name]).__name__
            raise UserError(f"{where}: the field {name!r} must be text, found {kind}")
    check_length(where, str(row["story"]))
    return cast(InputRow, row)


def check_length(where: str, story: str) -> None:
    """Refuse a story far longer than any benchmark's."""
    if len(story) > LONGEST_STORY:
        raise UserError(
            f"{where}: the story has {len(story):,} characters; allowed: {LONGEST_STORY:,}"
        )


def write_rows(output: Path, rows: Iterable[Mapping[str, object]]) -> None:
    write_output(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
