"""A table from columns, and shares and circumstances as pages write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from pipeline.formats.foreign import markdown_table

Item = TypeVar("Item")


def table(columns: Mapping[str, Callable[[Item], object]], items: Iterable[Item]) -> str:
    """Items as a Markdown table, by what each column shows of one."""
    return markdown_table(list(columns), ([of(each) for of in columns.values()] for each in items))


def whole(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f}"


def with_ends(found: Mapping[str, float]) -> str:
    """A share in percent with the ends of its interval: ``72.1 (53-85)``."""
    return f"{100 * found['value']:.1f} ({whole(found['low'])}-{whole(found['high'])})"


def made_on(commit: str, processor: str, libraries: Mapping[str, str]) -> str:
    """A sentence on what a result was made on."""
    versions = ", ".join(f"{name} {version}" for name, version in libraries.items())
    return f"Made on: commit {commit}, {processor}, {versions}."
