"""The result table, for terminals, Markdown and machines."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from pipeline.analysis.results import Results, Row

_CELL = 2  # headings that say which cell a row belongs to
_NUMBERS = ("base", "after RL", "change")
HEADINGS = ("model", "combination", "task", "base", "after RL", "change", "rule baseline")


NOTES = "* never trained on    ** side-check"


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the texts of one line."""
    rule = "-" if row.rule is None else f"{100 * row.rule:.1f} {row.rule_name}"
    mark = {True: "", False: " *", None: " **"}[row.in_distribution]
    return (
        row.model,
        row.combination or "-",
        f"{row.task}{mark}",
        "absent" if row.absent else _percent(row.base),
        _percent(row.trained),
        "-" if row.change is None else f"{100 * row.change:+.1f}",
        rule,
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def rich_table(results: Results) -> Table:
    """Return the table for a terminal; accuracies in percent, cell by cell under its name."""
    title = f"{results.params.study.title}: accuracy in %"
    table = Table(title=title, caption=NOTES, box=SIMPLE_HEAD, padding=(0, 1))
    for heading in HEADINGS[_CELL:]:
        justify: Literal["right", "left"] = "right" if heading in _NUMBERS else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for cell, rows in groupby(results.rows(), key=lambda row: row.cell):
        table.add_section()
        table.add_row(f"[bold]{escape(cell)}[/]")
        for row in rows:
            task, *values = cells_of(row)[_CELL:]
            table.add_row(f"  {escape(task)}", *map(escape, values))
    return table


def markdown(results: Results) -> str:
    """Return the table as Markdown."""
    lines: list[tuple[str, ...]] = [HEADINGS, ("---",) * 3 + ("---:",) * 3 + ("---",)]
    lines += [cells_of(row) for row in results.rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{NOTES}\n"
