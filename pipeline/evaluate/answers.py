"""Answers that somebody recorded, in any file that :mod:`pipeline.formats.tables` reads."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pipeline.base.errors import UserError
from pipeline.evaluate.joined import Asked
from pipeline.evaluate.naming import NAMES, Naming, naming_of
from pipeline.formats.other_logs import FAILED
from pipeline.formats.tables import LONGEST_FIELD, Row, is_absent, read_table
from pipeline.tasks import registry
from pipeline.tasks.example import AnswerKind, Example
from pipeline.tasks.grading import option_of
from pipeline.tasks.plain import split_letter
from pipeline.tom.parse.text import unnumbered, without_options
from pipeline.tom.solve import split_choices

Parsed = TypeVar("Parsed")

_KINDS = get_args(AnswerKind)
_MAY_BE_NUMBERS = ("answer", "response")

_LONGEST_WRITTEN_OUT = 10_000
_TEXTS_ABREAST = re.compile(r"['\"]\s+['\"]")

_LARGEST_ID = 1 << 64
_LARGEST_WHOLE = 1 << 53
"""Up to here every whole number is one of its own as a float."""


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


@dataclass(frozen=True, slots=True)
class How:
    """How a file of other people's answers is read, beyond what it says itself.

    Attributes:
        columns: Its fields by what they hold, where a person says so; see :class:`Naming`.
        benchmark: In whose words the stories are; by default those of the task.
        asked: The questions that were asked, for rows without a story.
        rows: The rows, where they lie in no file.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    benchmark: str | None = None
    asked: Asked | None = None
    rows: Sequence[Mapping[str, Any]] | None = None

    def read(self, path: Path) -> Iterator[Row]:
        """The rows as they are given, each with its place."""
        if self.rows is None:
            return read_table(path)
        return ((f"row {number}", row) for number, row in enumerate(self.rows, 1))


HOW = How()


@dataclass(frozen=True, slots=True)
class Reader:
    """How the rows of a file are read: whose questions they are, and what every row must have.

    Attributes:
        path: The file.
        task: The name of the task.
        needed: Which of ``NAMES`` every row must have.
        benchmark: In whose words the stories are; by default those of the task.
        naming: How the fields are named.
        failed: What is said of samples that never got an answer, as the rows are read.
    """

    path: Path
    task: str
    needed: tuple[str, ...]
    benchmark: str | None = None
    naming: Naming = field(default_factory=Naming)
    failed: list[str] = field(default_factory=list)

    def answer(self, where: str, row: Mapping[str, Any]) -> AnsweredQuestion:
        """The answer in a row.

        Raises:
            UserError: If the row is without a field that is needed, or one is of another kind.
        """
        columns = _columns(f"{self.path}, {where}", row, self.needed)
        task = registry.get(self.task)
        answered = _answered(self.path, where, row, columns, task, self.needed)
        if self.benchmark in (None, task.benchmark):
            return answered
        example = replace(answered.example, benchmark=self.benchmark)
        return replace(answered, example=example)


def read_answers(
    path: Path, task: registry.Task, needed: Sequence[str], how: How = HOW
) -> list[AnsweredQuestion]:
    """Read a file of answers to questions of a task.

    Args:
        path: The file.
        task: Whose questions they are.
        needed: Which of ``NAMES`` every row must have.
        how: What a person says of the file.

    Raises:
        UserError: If the file is missing, of another kind, damaged, without a field that is needed,
            or has an id twice; by file and row.
    """
    reader, rows = open_answers(path, task, needed, how)
    answers = [reader.answer(where, row) for where, row in rows]
    if reader.failed:
        raise UserError(
            f"{path}: {len(reader.failed)} questions were never answered ({reader.failed[0]}); ask "
            "them again, or leave them out"
        )
    refuse_repeats(path, (answer.id for answer in answers))
    return answers


def open_answers(
    path: Path, task: registry.Task, needed: Sequence[str], how: How = HOW
) -> tuple[Reader, Iterator[Row]]:
    """The reader of a file, and its rows, which are read as they are asked for.

    Raises:
        UserError: As :func:`read_answers`; of a damaged row once it is asked for.
    """
    failed: list[str] = []
    rows = _without_failed(how.read(path), failed)
    first = next(rows, None)
    if first is None and failed:
        raise UserError(f"{path}: no question of it was answered ({failed[0]}); ask again")
    if first is None:
        raise UserError(f"{path} holds no answers; write one row for each answer")
    naming = naming_of(f"{path}, {first[0]}", first[1], how.columns)
    named_rows = _named_rows(path, naming, how, chain([first], rows))
    first = next(named_rows)
    _columns(str(path), first[1], needed)
    reader = Reader(path, task.name, tuple(needed), how.benchmark, naming, failed)
    return reader, chain([first], named_rows)


def _named_rows(path: Path, naming: Naming, how: How, rows: Iterable[Row]) -> Iterator[Row]:
    for where, row in rows:
        for each in naming.rows(f"{path}, {where}", row):
            yield where, how.asked.joined(f"{path}, {where}", each) if how.asked else each


def _without_failed(rows: Iterable[Row], failed: list[str]) -> Iterator[Row]:
    """The rows with an answer; what is said of the others is kept."""
    for where, row in rows:
        if FAILED in row:
            failed.append(str(row[FAILED]))
        else:
            yield where, row


def _columns(place: str, row: Mapping[str, Any], needed: Sequence[str]) -> dict[str, str]:
    """What a row calls each thing that it holds."""
    found: dict[str, str] = {}
    for thing, names in NAMES.items():
        named = [name for name in names if name in row]
        if len(named) > 1 and any(row[name] != row[named[0]] for name in named):
            raise UserError(
                f"{place}: the columns {' and '.join(named)} both name the {thing}, and differ; "
                "remove or rename one"
            )
        if named:
            found[thing] = named[0]
    if missing := [thing for thing in needed if thing not in found]:
        wanted = ", ".join(" or ".join(NAMES[thing]) for thing in missing)
        raise UserError(
            f"{place}: found the columns {', '.join(map(str, row))}; missing: {wanted}; say which "
            f"they are, as in --columns {missing[0]}=NAME, or name another file"
        )
    return found


def named(path: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose fields have the names of what they hold, and any others their own.

    Raises:
        UserError: If two of its names mean the same and differ.
    """
    return {**row, **{thing: row[name] for thing, name in _columns(str(path), row, ()).items()}}


def as_choices(value: object) -> tuple[str, ...] | None:
    """Options in any form that a file may have; None where it has none.

    Raises:
        ValueError: If they are no texts.
    """
    if is_absent(value):
        return None
    found = _written_out(value) if isinstance(value, str) and value.startswith("[") else value
    if isinstance(found, str):
        return split_choices(found)
    if isinstance(found, Mapping):  # by letter
        found = list(found.values())
    elif hasattr(found, "tolist"):  # an array, as data frames hold that were read from parquet
        found = found.tolist()
    elif isinstance(found, tuple):
        found = list(found)
    if isinstance(found, list) and all(isinstance(choice, str) for choice in found):
        return split_choices(found)
    raise ValueError(value)


def as_meta(value: object) -> Mapping[str, Any]:
    """An object, or the text of one; empty where there is none.

    Raises:
        ValueError: If it is none.
    """
    if is_absent(value):
        return {}
    found = _written_out(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise ValueError(value)
    return found


def _written_out(text: str) -> object:
    """The list or object that a cell of a table holds: as JSON, or as pandas writes one of Python.

    Raises:
        ValueError: If it is neither, or texts stand in it with nothing between them, as in what is
            left of an array of numpy.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > _LONGEST_WRITTEN_OUT or _TEXTS_ABREAST.search(text):
            raise ValueError(text) from None
    try:
        return ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(text) from None


def _answered(
    path: Path,
    where: str,
    row: Mapping[str, Any],
    columns: Mapping[str, str],
    task: registry.Task,
    needed: Sequence[str],
) -> AnsweredQuestion:
    def text(thing: str) -> str:
        value = row.get(columns[thing]) if thing in columns else ""
        if is_absent(value):
            if thing in needed and thing != "response":  # without one, nothing was answered
                raise UserError(
                    f"{path}, {where}: {columns[thing]} is empty; write it, or leave the row out"
                )
            return ""
        if (
            thing in _MAY_BE_NUMBERS
            and isinstance(value, int | float)
            and not isinstance(value, bool)
        ):
            value = repr(int(value) if float(value).is_integer() else value)
        if not isinstance(value, str):
            kind = type(value).__name__
            raise UserError(f"{path}, {where}: {columns[thing]} must be text, found {kind}")
        if len(value) > LONGEST_FIELD:
            raise UserError(
                f"{path}, {where}: {columns[thing]} has {len(value):,} characters; allowed: "
                f"{LONGEST_FIELD:,}"
            )
        return value

    def held_in(thing: str) -> object:
        return row.get(columns[thing]) if thing in columns else None

    place = f"{path}, {where}"
    name = parsed(name_of, held_in("id"), f"{place}: the id must be text or a whole number")
    kind = text("answer_kind") or "span"
    if kind not in _KINDS:
        allowed = ", ".join(_KINDS)
        raise UserError(f"{place}: answer_kind is {kind!r}; allowed: {allowed}")
    example = Example(
        benchmark=task.benchmark,
        task=task.name,
        story=text("story").strip(),
        question=unnumbered(without_options(text("question"))),
        answer=text("answer"),
        choices=parsed(as_choices, held_in("choices"), f"{place}: choices must be texts"),
        order=parsed(_order, held_in("order"), f"{place}: order must be a whole number"),
        question_type=text("question_type"),
        answer_kind=cast(AnswerKind, kind),
        meta=parsed(as_meta, held_in("meta"), f"{place}: meta must be an object"),
    )
    example = _with_gold(example)
    held = {thing: row.get(name) for thing, name in columns.items()} | {"meta": example.meta}
    try:
        refuse_missing(held, task.reads(example), f"grading {task.name}")
    except UserError as error:
        raise UserError(f"{place}: {error}") from None
    sample = row.get("sample")
    if name is not None and isinstance(sample, int) and sample:
        name = f"{name}, sample {sample}"
    return AnsweredQuestion(where if name is None else name, example, text("response"))


def _with_gold(example: Example) -> Example:
    """An example whose gold answer is an option, where it is that option's letter or begins so."""
    answer = example.answer
    if not example.choices or answer in example.choices:
        return example
    letter, said = (answer.lower(), "") if len(answer) == 1 else split_letter(answer)
    option = option_of(letter, example)
    if option is None or said not in ("", option):
        return example
    return replace(example, answer=option, id="")


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


def parsed(read: Callable[[object], Parsed], value: object, wanted: str) -> Parsed:
    """What ``read`` makes of a value; a UserError says what is wanted, and what was found."""
    try:
        return read(value)
    except ValueError:
        raise UserError(f"{wanted}, found {repr(value)[:80]}") from None


def _order(value: object) -> int | None:
    return None if is_absent(value) else whole_number(value)


def whole_number(value: object) -> int:
    """A whole number in any form that a file may have: ``1``, ``1.0``, ``"1"``, ``"1e0"``.

    Raises:
        ValueError: If it is none; a truth value is none either.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    if isinstance(value, int) and abs(value) < _LARGEST_ID:
        return value
    try:
        number = float(value)
    except OverflowError:  # of hundreds of digits
        raise ValueError(value) from None
    if not number.is_integer() or abs(number) > _LARGEST_WHOLE or "_" in str(value):
        raise ValueError(value)
    return int(number)


def name_of(value: object) -> str | None:
    """An id in any form that a file may have, as text; None where it has none.

    Raises:
        ValueError: If it is neither text nor a whole number.
    """
    if is_absent(value):
        return None
    return value if isinstance(value, str) else str(whole_number(value))


def refuse_repeats(path: Path, ids: Iterable[str]) -> None:
    """Refuse a file that has an id twice.

    Raises:
        UserError: Names the id.
    """
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise UserError(f"{path}: the id {name!r} occurs twice; an id names one answer")
        seen.add(name)
