"""What all sections of a study share: their base class and the kinds of values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
)
from pydantic_core import PydanticCustomError

Value = TypeVar("Value")


def _as_list(value: object) -> list[object] | tuple[object, ...]:
    return value if isinstance(value, list | tuple) else [value]


def _as_written(values: tuple[object, ...]) -> object:
    return values[0] if len(values) == 1 else list(values)


OneOrMore = Annotated[
    tuple[Value, ...],
    BeforeValidator(_as_list),
    Field(min_length=1),
    PlainSerializer(_as_written),
]
"""One value or a list of values in a study; always a tuple here."""


def known(value: object, names: Collection[str]) -> object:
    """Return the value; an error that lists the names unless it is one of them."""
    if not isinstance(value, str) or value not in names:
        allowed = ", ".join(map(repr, names))
        raise PydanticCustomError("unknown_name", "unknown name", {"expected": allowed})
    return value


def one_of(names: Collection[str]) -> BeforeValidator:
    """Return the check that a value is one of the names, such as the keys of a table."""
    return BeforeValidator(lambda value: known(value, names))


Key = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """Base of all sections: unknown fields are mistakes, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
