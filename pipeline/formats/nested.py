"""Nested mappings by dotted names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def differing(
    one: Mapping[str, object], other: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """The values of both at each dotted name where they differ; None where one has none."""
    first, second = dict(flatten(one)), dict(flatten(other))
    return {
        name: (first.get(name), second.get(name))
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    }


def flatten(values: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yield (dotted name, value) of nested mappings; None is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value
