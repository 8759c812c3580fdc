"""Finding an entry by its name."""

from __future__ import annotations

from typing import TypeVar

from pipeline.base.errors import UserError

Value = TypeVar("Value")


def lookup(mapping: dict[str, Value], key: str, what: str) -> Value:
    """An entry, or raise a UserError that lists the entries there are."""
    if key not in mapping:
        raise UserError(f"{what} {key!r} does not exist; there are: {', '.join(mapping) or 'none'}")
    return mapping[key]
