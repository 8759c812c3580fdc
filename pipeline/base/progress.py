"""Progress of long work: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 10.0


class ProgressReport:
    """A context manager that shows progress; call :meth:`at`.

    ``beside`` uses standard error, where standard output is for results.
    """

    def __init__(self, title: str, total: int, *, beside: bool = False) -> None:
        self.title, self.total = title, total
        self.stream = sys.stderr if beside else sys.stdout
        self.started = self.last_line = time.monotonic()
        self.bar: Progress | None = None
        if self.stream.isatty():
            self.bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=Console(file=self.stream),
            )
            self.task = self.bar.add_task(title, total=total, note="")

    def __enter__(self) -> ProgressReport:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def at(self, done: int, note: str = "") -> None:
        if self.bar:
            self.bar.update(self.task, completed=done, total=self.total, note=note)
            return
        now = time.monotonic()
        if done >= self.total or now - self.last_line >= _SECONDS_BETWEEN_LINES:
            self.last_line = now
            spent = f"{now - self.started:.0f} s"
            print(
                f"{self.title}: {done}/{self.total} ({spent}) {note}".rstrip(),
                file=self.stream,
                flush=True,
            )
