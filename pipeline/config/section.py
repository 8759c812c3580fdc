"""What all sections of a study share: their base class and the kinds of values."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

Value = TypeVar("Value")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _as_written(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


OneOrMore = Annotated[
    tuple[Value, ...],
    BeforeValidator(_as_list),
    Field(min_length=1),
    PlainSerializer(_as_written),
]
"""One value or a list of values in a study; always a tuple here."""


Key = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """Base of all sections: unknown fields are mistakes, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
