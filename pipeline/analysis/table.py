"""The result table, for terminals, Markdown and machines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from rich.markup import escape
from rich.table import Table

from pipeline.analysis.results import MissingCell, Results, Row
from pipeline.data.connection import MEANINGS, Connection
from pipeline.evaluate.statistics import LEVEL
from pipeline.formats.fitting import FittingTable
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import percent

_CELL = 2  # headings that say which cell a row belongs to
_ACCURACIES = slice(4, 6)  # those of the base model and after training
_CHANGE = 6  # that of the change
_NUMBERS = ("base", "after RL", "change")
HEADINGS = ("cell", "combination", "task", "shown", "base", "after RL", "change", "rule baseline")
_INDENT, _NAME_WIDTH = "  ", 18  # of the names of tasks, in characters
_WIDE = 100
"""Characters of a terminal from which on a table has a column for the rules."""
_SIDE_CHECK = "side-check"
_NOT_KNOWN = "not known"
_INTERVAL = "±: half the 95 % interval of a change, paired and by story"
_UNKNOWN = " ± ?"
_NO_INTERVAL = "± ?: a change whose interval is not known"
_HOLDS = " *"
_CORRECTED = "*: p < 0.05 after correction for all changes of the table (Holm)"
_STRICT = "in brackets: by the strict match, where that differs"
_NO_ANSWER = "in square brackets: responses in which no answer could be read"


def lines_of(row: Row) -> list[tuple[str, ...]]:
    """The texts of a task's line, and of one more for each figure beside its accuracy."""
    return [cells_of(row), *(_beside(row, name) for name in row.beside)]


def _beside(row: Row, name: str) -> tuple[str, ...]:
    figure = row.beside[name]
    return (
        row.cell,
        row.combination or "-",
        f"{row.task}: {name}",
        mark_text(row),
        percent(figure.base),
        percent(figure.trained),
        change_text(figure.change, figure.change_interval, figure.table_p_value),
        "-" if figure.chance is None else f"{percent(figure.chance)} chance",
    )


def cells_of(row: Row) -> tuple[str, ...]:
    """The texts of one line: a task's accuracy."""
    rule = "-" if row.rule is None else f"{100 * row.rule:.1f} {row.rule_name}"
    return (
        row.cell,
        row.combination or "-",
        row.task,
        mark_text(row),
        "absent"
        if row.absent
        else _accuracy(row.base, row.base_strict, row.base_no_answer, row.base_missing),
        _accuracy(row.trained, row.trained_strict, row.trained_no_answer, row.trained_missing),
        change_text(row.change, row.change_interval, row.table_p_value),
        rule,
    )


def mark_text(row: Row) -> str:
    """What is known of whether the model was shown a task before."""
    if row.side_check:
        return _SIDE_CHECK
    return _NOT_KNOWN if row.mark is None else row.mark.text()


def notes(results: Results) -> list[str]:
    """What the marks and brackets of a table mean, of those that it has."""
    unknown = any(model.shown is None for model in results.base_cards.values())
    return notes_on(results.rows(), unknown=unknown, partial=bool(results.missing()))


def notes_on(rows: Sequence[Row], *, unknown: bool = False, partial: bool = False) -> list[str]:
    """What the marks and brackets of some rows mean.

    Args:
        rows: The rows.
        unknown: Whether nobody knows what some base model was shown.
        partial: Whether cells are missing.
    """
    marks = {row.mark.connection for row in rows if row.mark is not None}
    parts = [f"{each}: {MEANINGS[each]}" for each in Connection if each in marks]
    if unknown:
        parts.append("not known: what models made elsewhere were shown before")
    changes = [line[_CHANGE] for row in rows for line in lines_of(row)]
    for shown, meaning in ((" ± ", _INTERVAL), (_UNKNOWN, _NO_INTERVAL), (_HOLDS, _CORRECTED)):
        if any(shown in change for change in changes):
            parts.append(meaning)
    if partial:
        parts.append("failed, not run: cells without results; the report is partial")
    accuracies = [cell for row in rows for cell in cells_of(row)[_ACCURACIES]]
    for shown, meaning in (("(", _STRICT), ("[", _NO_ANSWER)):
        if any(shown in cell for cell in accuracies):
            parts.append(meaning)
    return parts


def _accuracy(
    published: float | None,
    strict: float | None,
    no_answer: float | None,
    missing: MissingCell | None,
) -> str:
    """The accuracy by the published rule, with the strict one and unread answers if they tell."""
    if missing is not None:
        return missing.word
    if published is None or strict is None:
        return "-"
    by_rule, by_match, unread = percent(published), percent(strict), percent(no_answer or 0.0)
    in_brackets = "" if by_rule == by_match else f" ({by_match})"
    return f"{by_rule}{in_brackets}{'' if unread == percent(0.0) else f' [{unread}]'}"


def change_text(
    change: float | None, interval: tuple[float, float] | None, p_value: float | None = None
) -> str:
    """A change in points with half the width of its 95 % interval, where that is known.

    Args:
        change: None where nothing can be compared.
        interval: Of the change.
        p_value: After correction; a change that holds is marked.
    """
    if change is None:
        return "-"
    reach = _UNKNOWN if interval is None else f" ± {50 * (interval[1] - interval[0]):.1f}"
    holds = p_value is not None and p_value < 1 - LEVEL
    return f"{100 * change:+.1f}{reach}{_HOLDS if holds else ''}"


def rich_table(results: Results, width: int = _WIDE) -> Table:
    """The table for a terminal; accuracies in percent, cell by cell under its name."""
    return table_of(results.params.study.title, results.rows(), notes(results), width)


def table_of(
    title: str, rows_of_all: Sequence[Row], meanings: Sequence[str], width: int = _WIDE
) -> Table:
    """Rows as a table for a terminal, with what their marks mean below.

    Args:
        title: What they are of.
        rows_of_all: The rows.
        meanings: See :func:`notes`.
        width: Of the terminal; on a narrow one the rules, too, stand below.
    """
    narrow = width < _WIDE
    shown = HEADINGS[_CELL : -1 if narrow else None]
    rules = dict.fromkeys(
        f"{row.task}: {cells_of(row)[-1]}" for row in rows_of_all if row.rule is not None
    )
    below = [f"{HEADINGS[-1]}: {'; '.join(rules)}"] if rules and narrow else []
    table = FittingTable(
        title=escape(f"{title}: accuracy in %"),
        caption=escape("\n".join([*below, *meanings])),
    )
    # On narrow terminals other words are folded before the names of tasks.
    longest = max((len(row.task) for row in rows_of_all), default=0)
    for heading in shown:
        justify: Literal["right", "left"] = "right" if heading in _NUMBERS else "left"
        wide = min(len(_INDENT) + longest, _NAME_WIDTH) if heading == "task" else None
        table.add_column(heading, justify=justify, overflow="fold", min_width=wide)
    for cell, rows in groupby(rows_of_all, key=lambda row: row.cell):
        table.add_section()
        table.add_row(f"[bold]{escape(cell)}[/]")
        for line in (line for row in rows for line in lines_of(row)):
            task, *values = line[_CELL:]
            table.add_row(f"{_INDENT}{escape(task)}", *map(escape, values[: len(shown) - 1]))
    return table


def markdown(results: Results) -> str:
    """The table as Markdown."""
    return markdown_of(results.rows(), notes(results))


def markdown_of(rows: Sequence[Row], meanings: Sequence[str]) -> str:
    """Rows as a table in Markdown, with what their marks mean below."""
    lines = (line for row in rows for line in lines_of(row))
    table = markdown_table(HEADINGS, lines, range(4, 7))
    return f"{table}\n{'; '.join(meanings)}.\n"
