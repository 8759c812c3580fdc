"""A stage of a cell while it works: its steps in a file, and a process that follows them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pipeline.base.errors import first_line
from pipeline.base.plugins import FOLLOWER
from pipeline.base.processes import was_stopped
from pipeline.stages.common import CellStage
from pipeline.stages.followed.circumstances import circumstances
from pipeline.stages.followed.ended import Ended

PATIENCE = 20.0
"""Seconds that a stage works before somebody follows it: many a stage is done by then."""
LIVE = "live.jsonl"
"""What a stage has said since it began: when and where that was, then its steps and tags."""
_SECONDS_TO_SEND = 60.0
log = logging.getLogger(__name__)

Row = Mapping[str, object]
"""One row of ``metrics.jsonl`` or ``timing.jsonl``."""


class StageRun:
    """What a stage says while it works.

    Args:
        path: The file that it says it in.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        """Say what one step measured.

        Args:
            stage: Name of the stage.
            step: Number of the step.
            values: What it measured.
            at: When, in seconds since the epoch.
            timing: What differs whenever the step is repeated.
        """
        self.say({"step": [stage, step, dict(values), at, dict(timing or {})]})

    def tags(self, values: Mapping[str, object]) -> None:
        """Say tags."""
        self.say({"tags": dict(values)})

    def say(self, what: Row, *, first: bool = False) -> None:
        """Add a line, or begin with one; that there is no room for it stops nothing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("w" if first else "a", encoding="utf-8") as file:
                file.write(f"{json.dumps(what)}\n")
        except OSError as error:
            log.warning("%s: not written (%s)", self._path, error)


@contextmanager
def followed(own: CellStage, patience: float = PATIENCE) -> Iterator[StageRun]:
    """Have a stage of a cell followed, which writes its results inside the block.

    Args:
        own: The stage of the cell.
        patience: Seconds until somebody follows it; 0 from the start.
    """
    began, clock, where = time.time(), time.monotonic(), circumstances(own.stage.root)
    run, follower = StageRun(own.logs / LIVE), _Follower(own, patience)
    run.say({"began": began, "circumstances": where}, first=True)
    status, cause = "FAILED", None
    try:
        with follower:
            yield run
        status = "FINISHED"
    except (KeyboardInterrupt, Exception) as error:
        if was_stopped(error):
            status = "KILLED"
        else:
            cause = first_line(error)
        raise
    finally:
        Ended(status, began, time.monotonic() - clock, where, cause).leave(own.logs)
        follower.end(at_once=cause is not None)


class _Follower:
    """The process that follows a stage; its standard input ends with the stage, even by SIGKILL."""

    def __init__(self, own: CellStage, patience: float) -> None:
        self._command = [sys.executable, "-m", FOLLOWER, own.key, own.stage.name]
        self._root, self._process = own.stage.root, None  # type: Path, subprocess.Popen[bytes] | None
        self._timer = threading.Timer(patience, self._start)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()  # it may be starting the process

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, cwd=self._root)
        except OSError as error:
            log.warning("nobody follows this stage: %s", error)

    def end(self, *, at_once: bool) -> None:
        """Let the process send what is left.

        Args:
            at_once: Start one if there is none; others send what a short stage has left.
        """
        if self._process is None and at_once:
            self._start()
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(_SECONDS_TO_SEND)
        except subprocess.TimeoutExpired:
            self._process.kill()
            log.warning("MLflow takes too long; send the rest later with: tomrl sync")
