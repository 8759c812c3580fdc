"""A table as a list of columns: its record, texts and Markdown are all made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import percent

Item = TypeVar("Item")
Line = dict[str, Any]
"""One line of a table as ``results.json`` has it: values by the name of the column."""


@dataclass(frozen=True)
class Column(Generic[Item]):
    """One column.

    Attributes:
        name: Its name in the record.
        of: Its value.
        heading: What stands above it; a column without one is in the record alone.
        number: The text of a number, from the line; other values stand as they are.
    """

    name: str
    of: Callable[[Item], Any]
    heading: str = ""
    number: Callable[[Line], str] | None = None


class Table(Generic[Item]):
    """A table of some columns."""

    def __init__(self, *columns: Column[Item]) -> None:
        """Keep the columns."""
        self.columns = columns
        self.shown = [column for column in columns if column.heading]
        self.headings = [column.heading for column in self.shown]
        self.numbers = {n for n, column in enumerate(self.shown) if column.number is not None}

    def lines(self, items: Iterable[Item]) -> list[Line]:
        return [{column.name: column.of(item) for column in self.columns} for item in items]

    def texts(self, line: Line) -> tuple[str, ...]:
        """The texts of one line."""
        return tuple(c.number(line) if c.number else str(line[c.name]) for c in self.shown)

    def markdown(self, lines: Sequence[Line]) -> str:
        """Lines as Markdown; nothing where there are none."""
        rows = map(self.texts, lines)
        return markdown_table(self.headings, rows, self.numbers) if lines else ""


def percents(name: str) -> Callable[[Line], str]:
    return lambda line: percent(line[name])
