"""Finding an entry by its name."""

from __future__ import annotations

from typing import TypeVar

from pipeline.base.errors import UserError, did_you_mean

Value = TypeVar("Value")


def lookup(mapping: dict[str, Value], key: str, what: str) -> Value:
    """An entry, or raise a UserError that names the nearest and lists the entries there are."""
    if key not in mapping:
        raise UserError(
            f"{what} {key!r} does not exist{did_you_mean(key, mapping)}; there are: "
            f"{', '.join(mapping) or 'none'}"
        )
    return mapping[key]
