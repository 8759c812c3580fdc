"""Tables for terminals: words are folded, numbers never cut."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

_SHORTEST = 9
"""Least width of folded words."""


class FittingTable(Table):
    """A table whose words are folded only where there is no room for the longest of each column."""

    def __init__(self, **options: Any) -> None:
        plain = {"box": SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True}
        super().__init__(**{**plain, **options})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        spans = [self._measure_column(console, options, column) for column in self.columns]
        widths, least = [span.maximum for span in spans], [span.minimum for span in spans]
        paddings = [self._get_padding_width(place) for place in range(len(spans))]
        room = options.max_width - self._extra_width
        if sum(least) > room:
            least = [
                low if column.justify == "right" else min(low, _SHORTEST + padding)
                for low, column, padding in zip(least, self.columns, paddings, strict=True)
            ]
        while sum(widths) > max(room, sum(least)):
            widest = max(range(len(spans)), key=lambda place: widths[place] - least[place])
            widths[widest] -= 1
        for column, width, padding in zip(self.columns, widths, paddings, strict=True):
            column.width, column.overflow = max(1, width - padding), "fold"
        yield from super().__rich_console__(console, options)
