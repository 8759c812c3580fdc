"""Tables for terminals of any width, without cut content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.formats.fitting import FittingTable


def make_table(title: str | None, texts: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """An empty table: columns of text, then columns of numbers.

    Wide headings and cells are wrapped, and shown verbatim: no markup.
    """
    shown = None if title is None else Text(title)
    table = _Plain(title=shown, title_justify="left")
    for heading in texts:
        table.add_column(Text(heading))
    for heading in numbers:
        table.add_column(Text(heading), justify="right")
    return table


class _Plain(FittingTable):
    """A table without markup in its cells, whose names come from files."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(Text(c) if isinstance(c, str) else c for c in cells), **options)


def make_list() -> Table:
    """An empty table without headings, for names and descriptions."""
    return FittingTable(show_header=False, box=None, padding=(0, 2, 0, 0), collapse_padding=False)
