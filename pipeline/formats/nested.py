"""Nested mappings by dotted names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def flatten(values: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yield (dotted name, value) of nested mappings; None is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value
