"""Tables for terminals of any width: words are folded, numbers never cut.

In a terminal too narrow for all columns, a row's values are listed vertically.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_NUMBER = re.compile(r"\S*?(?<![^\W\d_])(?<!_)[+\-−±<>~(]?\d\S*")
_SHORTEST = 6
"""Minimum width of folded words."""


class FittingTable(Table):
    """A table that chooses its column widths by their content."""

    def __init__(self, **options: Any) -> None:
        plain = {"box": SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True}
        super().__init__(**{**plain, **options})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = [[_text(console, cell) for cell in column._cells] for column in self.columns]
        heads = [_text(console, column.header) for column in self.columns]
        shown = [[head, *column] for head, column in zip(heads, cells, strict=True)]
        paddings = [self._get_padding_width(place) for place in range(len(self.columns))]
        room = options.max_width - self._extra_width - sum(paddings)
        natural = [
            min(max(map(_width, texts), default=0), column.max_width or options.max_width)
            for column, texts in zip(self.columns, shown, strict=True)
        ]
        least = [min(_least(column), wide) for column, wide in zip(shown, natural, strict=True)]
        wished = [
            max(low, min(column.min_width or 0, wide))
            for low, column, wide in zip(least, self.columns, natural, strict=True)
        ]
        words = [
            max(low, min(_longest_word(texts), wide))
            for low, texts, wide in zip(wished, shown, natural, strict=True)
        ]
        for lowest in (words, wished, least):
            if sum(lowest) <= room:
                self._set(_narrowed(natural, lowest, room))
                yield from super().__rich_console__(console, options)
                return
        yield from self._stacked(console, heads, cells)

    def _set(self, widths: Sequence[int]) -> None:
        for column, width in zip(self.columns, widths, strict=True):
            column.width, column.overflow = max(1, width), "fold"

    def _stacked(
        self, console: Console, heads: Sequence[Text], cells: Sequence[Sequence[Text]]
    ) -> Iterator[Any]:
        if self.title:
            yield _text(console, self.title)
        for first, *others in zip(*cells, strict=True):
            yield first
            for head, value in zip(heads[1:], others, strict=True):
                if value.plain.strip():
                    said = Text.assemble(head, ": ", value) if head.plain.strip() else value
                    yield Padding(said, (0, 0, 0, 4))
        if self.caption:
            yield _text(console, self.caption)


def _text(console: Console, cell: object) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell), highlight=False)


def _width(text: Text) -> int:
    return max((line.cell_len for line in text.split()), default=0)


def _longest_word(texts: Sequence[Text]) -> int:
    return max((len(word) for text in texts for word in text.plain.split()), default=0)


def _least(texts: Sequence[Text]) -> int:
    """The width below which a number would be cut, or words become hard to read."""
    words = [word for text in texts for word in text.plain.split()]
    numbers = [len(word) for word in words if _NUMBER.fullmatch(word)]
    return max([min(max(map(len, words), default=0), _SHORTEST), *numbers])


def _narrowed(widths: Sequence[int], lowest: Sequence[int], room: int) -> list[int]:
    """Widths that fit, each at least its lowest; the most foldable are narrowed first."""
    found = list(widths)
    while sum(found) > room:
        widest = max(range(len(found)), key=lambda place: found[place] - lowest[place])
        found[widest] -= 1
    return found
