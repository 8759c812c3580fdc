"""The status of a sweep as a table, once or live."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from pipeline.cli.tables import make_table

if TYPE_CHECKING:
    from rich.table import Table

    from flows.driver.record import RunFolder, RunStanding

_LOOKS_A_SECOND = 0.5
_AT_REST = ("waiting", "done")


def table_of(rows: Iterable[tuple[str, str, str, str]]) -> Table:
    table = make_table(None, ("cell", "state", "attempts", "progress"))
    for row in rows:
        table.add_row(*row)
    return table


def live_view(found: RunStanding) -> RenderableType:
    """The running and failed cells over a summary, to fit on a screen."""
    shown = [row for row in found.rows() if row[1] not in _AT_REST]
    line = Text(f"{found.name}: {found.summary()}")
    return Group(table_of(shown), line) if shown else line


@contextmanager
def shown_live(folder: RunFolder, console: Console) -> Iterator[None]:
    """Show the status of a sweep while the block runs, on a terminal only.

    Elsewhere each change is a line of its own.
    """
    if not console.is_terminal:
        yield
        return
    from flows.driver.record import standing

    levels = {handler: handler.level for handler in logging.getLogger().handlers}
    for handler in levels:  # those of the screen; Prefect's server still gets every line
        handler.setLevel(logging.WARNING)
    try:
        with Live(
            get_renderable=lambda: live_view(standing(folder)),
            console=console,
            refresh_per_second=_LOOKS_A_SECOND,
        ):
            yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)
