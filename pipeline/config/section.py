"""Base class and value types of a study's sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
)
from pydantic_core import PydanticCustomError

from pipeline.config.mistakes import shown

Value = TypeVar("Value")


def _as_list(value: object) -> list[object] | tuple[object, ...]:
    return value if isinstance(value, list | tuple) else [value]


def _as_written(values: tuple[object, ...]) -> object:
    return values[0] if len(values) == 1 else list(values)


OneOrMore = Annotated[
    tuple[Value, ...],
    BeforeValidator(_as_list),
    Strict(False),
    Field(min_length=1),
    PlainSerializer(_as_written),
]
"""One value or a list in a study; always a tuple here."""


def known(value: object, names: Collection[str]) -> object:
    """The value, if it is one of the names; else an error that lists them."""
    if not isinstance(value, str) or value not in names:
        allowed = ", ".join(map(repr, names))
        raise PydanticCustomError("unknown_name", "unknown name", {"expected": allowed})
    return value


def one_of(names: Collection[str]) -> BeforeValidator:
    return BeforeValidator(lambda value: known(value, names))


Listed = Annotated[tuple[Value, ...], Strict(False)]
"""A list in a file; a tuple here."""


def _no_two_alike(values: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    for text, count in Counter(map(shown, values or ())).items():
        if count > 1:
            raise ValueError(f"found {text} twice; keep one of them")
    return values


Distinct = AfterValidator(_no_two_alike)
"""Validator against duplicates."""

Text = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]
"""A line for people: titles and names."""

Key = Annotated[str, Field(max_length=64, pattern=r"^[a-z0-9][a-z0-9_-]*$")]
"""A name that becomes part of file names, which most systems limit to 255 bytes."""

FOLDERS = ("audit", "base", "combos", "raw", "sources", "suite")
"""Reserved folder names of a study."""


def _no_folder(name: str) -> str:
    if name in FOLDERS:
        raise ValueError(f"found {shown(name)}, the name of a folder in it; choose another")
    return name


FolderKey = Annotated[Key, AfterValidator(_no_folder)]
"""The name of a study or of a cell."""

Fraction = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=10)]
"""A learning rate; usual ones are far below 1."""

Positive = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""A count of steps, rows or tokens; more than a billion is a typing error."""

Rows = Annotated[int, Field(ge=0, le=10_000_000)]
"""Generated rows, held in memory: ten million take tens of gigabytes."""

Tokens = Annotated[int, Field(ge=1, le=2**21)]
"""A length; the longest context of a published model has a million tokens."""

Batch = Annotated[int, Field(ge=1, le=65_536)]
"""A batch size; published recipes have up to a few thousand."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
"""Seed; NumPy's have 32 bits."""

Threads = Annotated[int, Field(ge=1, le=1024)]
"""Beyond this, libraries fail to start their threads."""


class Section(BaseModel):
    """Base of all sections: immutable, without unknown fields.

    Types are strict: ``true`` is no number, ``'4'`` no integer; numbers are finite.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
