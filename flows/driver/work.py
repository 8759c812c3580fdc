"""Running the stages of a study with DVC."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from threading import Lock

from flows.driver.causes import Cause, cause
from flows.driver.commands import Commands
from flows.driver.graph import Graph, changed_stages, runs_on_cores
from flows.driver.progress import CellState, advanced
from flows.driver.record import RunFolder
from pipeline.base.errors import UserError
from pipeline.ops.driver.mend import mend_dvc
from pipeline.ops.mirror.send import complete

Say = Callable[[str], None]
_TAIL = 30  # lines of output in which a cause is looked for


class StageFailed(Exception):
    """A stage failed, or was stopped; the message says why."""

    def __init__(self, why: Cause) -> None:
        super().__init__(why.text)
        self.cause = why


class RunFailed(Exception):
    """Cells failed, with their causes, or shared stages did."""

    def __init__(self, message: str, causes: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.causes = causes or {}


class Hopeless:
    """Cells whose training failed before its first step, by cause: after two of one cause, the fate
    of the others is clear.
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._lock = Lock()
        self.why = ""

    def add(self, key: str, state: CellState, why: Cause) -> bool:
        """Record the failure of a cell; true if another one failed by the same cause before."""
        if state.stage != "train" or state.step or why.passing:
            return False
        alike = re.sub(r"\d+", "0", why.text.replace(key, "CELL"))
        with self._lock:
            first = self._first.setdefault(alike, key)
            if first != key:
                self.why = self.why or (
                    f"the study was stopped, as {first} and {key} failed by the same cause before "
                    f"their first step: {why.text}"
                )
        return first != key


class Work:
    """The stages of a run.

    Several commands of DVC may run at once: each names its stages alone, releases DVC's lock while
    they run, and waits for others'.
    """

    def __init__(self, folder: RunFolder, commands: Commands) -> None:
        self.folder, self.commands = folder, commands
        self.params, self.graph = folder.params(), Graph.of(folder.tree)
        self._telling = Lock()
        self.hopeless = Hopeless()

    def changed(self) -> set[str]:
        return changed_stages(self.folder.tree)

    def run(self, name: str, stages: Sequence[str], say: Say) -> None:
        """Run stages in order without their dependencies, beside others, or raise StageFailed."""
        mend_dvc(self.folder.tree)
        tail: list[str] = []

        def hear(line: str) -> None:
            say(line)
            tail.append(line)
            del tail[:-_TAIL]

        arguments = ["--wait-for-lock", "repro", "--single-item", *stages]
        status = run_dvc(self.commands, arguments, self.folder.log(name), self.folder.tree, hear)
        if self.commands.stopped:
            raise StageFailed(Cause("it was stopped; run it again to go on", passing=False))
        if status:
            raise StageFailed(cause(tail))

    def run_cell(self, key: str, say: Say) -> None:
        """Run what is missing of a cell, record its state, and tell MLflow; StageFailed if it
        fails.
        """
        before, began = self.folder.cell(key), time.monotonic()
        update = {"state": "running", "attempts": before.attempts + 1, "cause": "", "stage": ""}
        state = before.model_copy(update=update)

        def note(after: CellState) -> None:
            nonlocal state
            seconds = before.seconds + time.monotonic() - began
            state = after.model_copy(update={"seconds": round(seconds, 1)})
            self.folder.note(key, state)

        def follow(line: str) -> None:
            say(line)
            if (after := advanced(state, line)) is not state:
                note(after)

        note(state)
        try:
            self.run(key, self.graph.of_cell(key), follow)
            self._tell(key, say)
        except Exception as failure:
            ended = "stopped" if self.commands.stopped else "failed"
            note(state.model_copy(update={"state": ended, "cause": str(failure)}))
            if (
                isinstance(failure, StageFailed)
                and not runs_on_cores(self.params)
                and self.hopeless.add(key, state, failure.cause)
            ):
                self.commands.stop()
            raise
        note(state.model_copy(update={"state": "done", "remaining": None}))

    def _tell(self, key: str, say: Say) -> None:
        """Send the results of a cell to MLflow; after a failure the report sends them."""
        try:
            with self._telling:
                complete(self.params, self.folder.tree, [key])
        except UserError as error:
            say(f"warning: {error}")


def run_dvc(commands: Commands, arguments: list[str], log: Path, where: Path, say: Say) -> int:
    """Run DVC in a checkout, with all that it says in a log; its exit status."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", buffering=1) as file:

        def hear(line: str) -> None:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {line}\n")
            if line:
                say(line)

        return commands.dvc(arguments, hear, where)
