"""The result table, for terminals, Markdown and machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from pipeline.analysis.results import Results, Row

_NUMBERS = ("base", "after RL", "change")
HEADINGS = ("model", "combination", "task", "base", "after RL", "change", "rule baseline")


NOTES = "* never trained on    ** side-check"


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the texts of one line."""
    rule = "-" if row.rule is None else f"{100 * row.rule:.1f} {row.rule_name}"
    mark = {True: "", False: " *", None: " **"}[row.in_distribution]
    return (
        row.model,
        row.combination,
        f"{row.task}{mark}",
        f"{100 * row.base:.1f}",
        f"{100 * row.trained:.1f}",
        f"{100 * row.change:+.1f}",
        rule,
    )


def rich_table(results: Results) -> Table:
    """Return the table for a terminal; accuracies in percent."""
    title = f"{results.params.study.title}: accuracy in %"
    table = Table(title=title, caption=NOTES, box=SIMPLE_HEAD, padding=(0, 1))
    for heading in HEADINGS:
        justify: Literal["right", "left"] = "right" if heading in _NUMBERS else "left"
        table.add_column(heading, justify=justify, no_wrap=heading != HEADINGS[-1])
    previous = None
    for row in results.rows():
        if previous not in (None, row.cell):
            table.add_section()
        previous = row.cell
        table.add_row(*cells_of(row))
    return table


def markdown(results: Results) -> str:
    """Return the table as Markdown."""
    lines: list[tuple[str, ...]] = [HEADINGS, ("---",) * 3 + ("---:",) * 3 + ("---",)]
    lines += [cells_of(row) for row in results.rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{NOTES}\n"


def machine_rows(results: Results) -> list[dict[str, Any]]:
    """Return the table as JSON values."""
    return [{**asdict(row), "change": row.change} for row in results.rows()]
