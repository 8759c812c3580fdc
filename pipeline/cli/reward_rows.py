"""The rows that ``tomrl reward score`` reads: a completion, and the example that it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pipeline.base.errors import UserError
from pipeline.cli.reading import read_input
from pipeline.config.mistakes import is_writable
from pipeline.evaluate.answers import refuse_missing, whole_number
from pipeline.reward.reward import Preset
from pipeline.tasks import registry
from pipeline.tasks.example import AnswerKind, Example

Row = Mapping[str, Any]
_NEEDED = ("completion", "ground_truth")
_KINDS = get_args(AnswerKind)
_MISSING = object()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


def _is_order(value: object) -> bool:
    try:
        return value is None or whole_number(value) is not None
    except ValueError:
        return False


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **{name: (_is_text, "text") for name in (*_NEEDED, "task", "benchmark", "story", "question")},
    "question_type": (_is_text, "text"),
    "answer_kind": (lambda value: value in _KINDS, f"one of {', '.join(_KINDS)}"),
    "choices": (_are_texts, "a list of texts"),
    "order": (_is_order, "a whole number"),
    "meta": (lambda value: isinstance(value, dict), "an object"),
}
"""What a field must be, by name; all but the first two are optional."""

OPTIONAL = tuple(name for name in _FIELDS if name not in _NEEDED)


def read_rows(source: Path, default_task: str, preset: Preset) -> Iterator[tuple[str, Example]]:
    """Yield completions with the examples that grade them; blank lines are skipped.

    Args:
        source: JSON lines; ``-`` is standard input.
        default_task: The task of rows that name none.
        preset: The reward that will be asked of them.

    Raises:
        UserError: At the first line that is not as it should be, by file and line. It names the
            field that is missing, also where only the grading of this row, or the reward, reads it.
    """
    found = False
    for number, line in enumerate(read_input(source).split(b"\n"), 1):
        if line.strip():
            found = True
            try:
                yield _read(line, default_task, preset)
            except UserError as error:
                raise UserError(f"{source}:{number}: {error}") from None
    if not found:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def _read(line: bytes, default_task: str, preset: Preset) -> tuple[str, Example]:
    row = _checked(line)
    task = registry.get(row.get("task", default_task))
    example = _example(row, task)
    refuse_missing(row, task.reads(example), f"grading this row of {task.name}")
    refuse_missing(row, preset.reads, "this reward")
    return row["completion"], example


def _checked(line: bytes) -> Row:
    """A row each of whose fields is of its kind."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise UserError(f"expected a JSON object, found {type(row).__name__}")
    for name in _NEEDED:
        if name not in row:
            raise UserError(f"the field {name!r} is missing; every row needs it")
    for name, (is_right, allowed) in _FIELDS.items():
        value = row.get(name, _MISSING)
        if value is not _MISSING and not is_right(value):
            found = repr(value) if _is_text(value) else type(value).__name__
            raise UserError(f"the field {name!r} must be {allowed}, found {found}")
        if isinstance(value, str) and not is_writable(value):
            raise UserError(
                f"the field {name!r} holds half of a surrogate pair (\\ud800 to \\udfff), "
                "which no text file can hold; remove or complete it"
            )
    return row


def _example(row: Row, task: registry.Task) -> Example:
    choices = row.get("choices")
    return Example(
        benchmark=row.get("benchmark", task.benchmark),
        task=task.name,
        story=row.get("story", ""),
        question=row.get("question", ""),
        answer=row["ground_truth"],
        answer_kind=row.get("answer_kind", "span"),
        choices=None if choices is None else tuple(choices),
        order=None if row.get("order") is None else whole_number(row["order"]),
        question_type=row.get("question_type", ""),
        meta=row.get("meta", {}),
        story_id="-",
        id="-",
    )
