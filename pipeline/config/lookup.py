"""Finding entries by name."""

from __future__ import annotations

from typing import TypeVar

from pipeline.base.errors import UserError, did_you_mean

Value = TypeVar("Value")


def lookup(mapping: dict[str, Value], key: str, what: str) -> Value:
    """An entry, or a UserError with the nearest name and all names."""
    if key not in mapping:
        raise UserError(
            f"{what} {key!r} does not exist{did_you_mean(key, mapping)}; there are: "
            f"{', '.join(mapping) or 'none'}"
        )
    return mapping[key]
