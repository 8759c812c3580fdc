"""Tables for the terminal: whole at 80 columns, because nothing in them is ever cut."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table


def make_table(title: str | None, texts: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """Return an empty table: columns of text, then columns of numbers.

    Headings and cells that are too wide are continued below.
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def make_list() -> Table:
    """Return an empty table without headings: a name on each line, and what is said of it."""
    return Table(show_header=False, box=None, padding=(0, 2, 0, 0), pad_edge=False)
