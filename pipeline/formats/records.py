"""Typed records: the files between stages.

For any other content the reader raises one sentence, with the command that makes the file again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from pipeline.base.errors import UserError
from pipeline.formats.files import json_text, write_text

Figures = dict[str, int | float]
"""Numbers by name; counts stay integers in the files."""

UNREADABLE = (OSError, ValueError, RecursionError)
"""Exceptions from damaged JSON; pydantic's errors are ValueErrors."""


class Record(BaseModel):
    """Base of all records: immutable, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def write(self, path: Path) -> None:
        """Write JSON atomically, with the same bytes for the same values."""
        write_text(path, self.text())

    def text(self) -> str:
        return json_text(self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path, made_by: str) -> Self:
        """Read a record; the UserError names the DVC stage ``made_by`` to run again."""
        try:
            return cls.model_validate(json.loads(path.read_bytes()))
        except UNREADABLE as error:
            raise unreadable(path, error, made_by) from None


class _Step(TypedDict):
    step: int


_figures = TypeAdapter(Figures)
_step = TypeAdapter(_Step)


def read_figures(path: Path, made_by: str) -> list[Figures]:
    """Read JSON lines of figures by step; ``made_by`` is the stage to rerun if that fails."""
    try:
        text = path.read_text(encoding="utf-8")
    except UNREADABLE as error:
        raise unreadable(path, error, made_by) from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = _figures.validate_python(json.loads(line))
            _step.validate_python(row)
        except (ValueError, RecursionError) as error:
            raise damage(path, f"line {number}: {_why(error)}", made_by) from None
        rows.append(row)
    return rows


def damage(path: Path, why: str, made_by: str) -> UserError:
    """The error for a file without its stage's content."""
    return UserError(
        f"{path} is damaged: {why}. Make it again with: dvc repro --single-item --force {made_by}"
    )


def unreadable(path: Path, error: Exception, made_by: str) -> UserError:
    """The error for a file that is missing or cannot be read."""
    if isinstance(error, FileNotFoundError):
        return UserError(f"{path} does not exist; make it with: dvc repro {made_by}")
    if isinstance(error, OSError):
        return UserError(
            f"{path} cannot be read ({error.strerror}); fix that, or delete it and make it with: "
            f"dvc repro {made_by}"
        )
    return damage(path, _why(error), made_by)


def refuse_foreign(
    path: Path, what: str, found: Iterable[str], expected: Iterable[str], made_by: str
) -> None:
    """Refuse a file of another study.

    Args:
        what: The compared property, such as ``columns``.
        found: Its values in the file.
        expected: Those of this study, in any order.
    """
    has, needs = sorted(set(found)), sorted(set(expected))
    if has != needs:
        said = (", ".join(names)[:200] or "none" for names in (has, needs))
        raise damage(path, "it has the {} {}, the study {}".format(what, *said), made_by)


class RecordOfModel(Record):
    """A record about a model, by its key in the study."""

    model: str

    @classmethod
    def read_of(cls, path: Path, model: str, made_by: str) -> Self:
        """Read a record; UserError if it is missing, damaged, or of another model."""
        found = cls.read(path, made_by)
        refuse_foreign(path, "model", [found.model], [model], made_by)
        return found


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "its content"
        if first["type"] in ("model_type", "dict_type"):
            return f"{field[:100]} is no JSON object"
        return f"{field[:100]}: {first['msg'].lower()[:200]}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"it is not JSON ({(str(error).splitlines() or [''])[0][:100]})"
