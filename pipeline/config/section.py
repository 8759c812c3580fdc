"""What all sections of a study share: their base class and the kinds of values."""

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
"""One value or a list of values in a study; always a tuple here."""


def known(value: object, names: Collection[str]) -> object:
    """The value; an error that lists the names unless it is one of them."""
    if not isinstance(value, str) or value not in names:
        allowed = ", ".join(map(repr, names))
        raise PydanticCustomError("unknown_name", "unknown name", {"expected": allowed})
    return value


def one_of(names: Collection[str]) -> BeforeValidator:
    """The check that a value is one of the names, such as the keys of a table."""
    return BeforeValidator(lambda value: known(value, names))


Listed = Annotated[tuple[Value, ...], Strict(False)]
"""A list in a file; always a tuple here."""


def _no_two_alike(values: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    """Refuse a list in which something stands twice."""
    for text, count in Counter(map(shown, values or ())).items():
        if count > 1:
            raise ValueError(f"found {text} twice; keep one of them")
    return values


Distinct = AfterValidator(_no_two_alike)
"""The check that nothing stands twice in a list."""

Text = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]
"""A line for people: titles and names that others gave."""

Key = Annotated[str, Field(max_length=64, pattern=r"^[a-z0-9][a-z0-9_-]*$")]
"""A name that becomes part of file names, of which most systems allow 255 bytes."""

FOLDERS = ("audit", "base", "combos", "raw", "sources", "suite")
"""What lies in the folders of a study; a study or cell of such a name could not be told from it."""


def _no_folder(name: str) -> str:
    if name in FOLDERS:
        raise ValueError(f"found {shown(name)}, the name of a folder in it; choose another")
    return name


FolderKey = Annotated[Key, AfterValidator(_no_folder)]
"""The name of a study or of a cell."""

Fraction = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=10)]
"""A learning rate; the largest that anybody trains with are below 1."""

Positive = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""A count of steps, rows or tokens: more than a billion is a slip of the pen."""

Rows = Annotated[int, Field(ge=0, le=10_000_000)]
"""Generated rows: they are kept in memory, and ten million take tens of gigabytes."""

Tokens = Annotated[int, Field(ge=1, le=2**21)]
"""A length; the longest context of a published model has a million tokens."""

Batch = Annotated[int, Field(ge=1, le=65_536)]
"""What goes through a model at once; published recipes have up to a few thousand."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
"""Of every random stream: NumPy's take 32 bits."""

Threads = Annotated[int, Field(ge=1, le=1024)]
"""More than any machine has cores, and libraries fail to start them."""


class Section(BaseModel):
    """Base of all sections: unknown fields are mistakes, values are fixed once read.

    A value must be of its field's own kind: ``true`` is no number, ``'4'`` no whole number, and a
    number is neither infinite nor none at all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
