"""What a stage of a cell leaves in its logs while it works, and how it ended.

Others follow it there. The stage itself knows no tracker: it starts a process that sends what the
files say, once the stage has worked for some time, and asks nothing of it.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from getpass import getuser
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from pipeline.base.errors import UserError, first_line
from pipeline.base.git import checked_out, git
from pipeline.base.locks import is_locked, locked
from pipeline.base.plugins import FOLLOWER
from pipeline.base.processes import was_stopped
from pipeline.config.params import Params
from pipeline.formats.files import write_json
from pipeline.formats.provenance import MODEL, installed
from pipeline.stages.common import CellStage

log = logging.getLogger(__name__)

PATIENCE = 20.0
"""Seconds that a stage works before somebody follows it: many a stage is done by then."""
LIVE = "live.jsonl"
"""What a stage has said since it began: when and where that was, then its steps and tags."""
COMMIT = "mlflow.source.git.commit"
ENDED = "ended.json"
WORKING = "working.lock"
"""Held while a stage works: it stays behind, free, where the stage was killed."""
_SECONDS_TO_SEND = 60.0

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
    with ExitStack() as held:
        with suppress(BlockingIOError):  # another process is at it
            held.enter_context(locked(own.logs / WORKING, 0.0))
        yield held.enter_context(_followed(own, patience))


@contextmanager
def _followed(own: CellStage, patience: float) -> Iterator[StageRun]:
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


# --- how it ended ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """The end of a stage.

    Attributes:
        status: ``FINISHED``, ``FAILED`` or ``KILLED``, as MLflow names it.
        began: When it began, in seconds since the epoch.
        seconds: How long it worked.
        circumstances: Who ran it where, as tags.
        cause: Why it failed, in a line; None where it did not.
    """

    status: str
    began: float
    seconds: float
    circumstances: dict[str, str]
    cause: str | None = None

    def leave(self, logs: Path) -> None:
        """Write it to the folder of a stage's times; that there is no room for it stops nothing."""
        try:
            write_json(logs / ENDED, asdict(self))
        except OSError as error:
            log.warning("%s: not written (%s)", logs / ENDED, error)


_ended = TypeAdapter(Ended)


def read_ended(logs: Path) -> Ended | None:
    """How a stage ended; None where nothing is known. A damaged log stops nothing."""
    path = logs / ENDED
    if (killed := _killed(logs)) is not None:
        return killed
    try:
        return _ended.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        log.warning("%s is damaged; MLflow is not told how long the stage took", path)
        return None


def _killed(logs: Path) -> Ended | None:
    """The end of a stage that could not say so; None of one that did, or works."""
    live = logs / LIVE
    if not (logs / WORKING).is_file() or is_locked(logs / WORKING):
        return None
    try:
        with live.open(encoding="utf-8") as lines:
            begun = json.loads(next(lines))
        began = float(begun["began"])
        return Ended("KILLED", began, live.stat().st_mtime - began, begun["circumstances"])
    except (OSError, ValueError, KeyError, StopIteration):
        return None


def causes(params: Params, root: Path) -> dict[str, str]:
    """Why cells of a study failed when they last ran, by cell: ``STAGE: CAUSE``."""
    logs = root / "logs" / params.study.name
    return {
        key: f"{path.parent.name}: {ended.cause}"
        for key in params.cells
        for path in sorted((logs / key).glob(f"*/{ENDED}"))
        if (ended := read_ended(path.parent)) and ended.cause
    }


# --- who ran it where -----------------------------------------------------------------------------


def circumstances(root: Path) -> dict[str, str]:
    """Who runs what on which machine, as tags."""
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": "dvc.yaml",
        "mlflow.source.type": "PROJECT",
        "hardware.cores": str(len(os.sched_getaffinity(0))),
        "hardware.memory_gb": f"{psutil.virtual_memory().total / 1e9:.0f}",
        "hardware.processor": processor(),
        "hardware.accelerators": ", ".join(_accelerators()) or "none",
        "version.python": platform.python_version(),
        **{f"version.{name}": number for name, number in installed(*MODEL, "verl").items()},
    }
    return tags | _commit(root)


def _commit(root: Path) -> dict[str, str]:
    """The commit of a checkout, or why it is not known; nothing outside of a repository."""
    try:
        if not (commit := checked_out(root)):
            return {}
        edited = bool(git(root, "status", "--porcelain", "--untracked-files=no"))
    except UserError as error:  # results name their inputs by digest: a label less stops no stage
        log.warning("MLflow will not have the commit: %s", error)
        return {"git.unknown": str(error)}
    return {COMMIT: commit, "git.edited": str(edited).lower()}


def processor(cpus: Path = Path("/proc/cpuinfo")) -> str:
    """The name of the processor, or its kind where Linux does not say."""
    named = _value("model name", cpus)
    return named or platform.processor() or platform.machine()


def _accelerators(driver: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """The names of the accelerators, as NVIDIA's driver has them: no library is asked."""
    return [_value("Model", path) for path in sorted(driver.glob("*/information"))]


def _value(name: str, path: Path) -> str:
    """What a file of ``NAME: VALUE`` lines says first of a name; else nothing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return str(os.getuid())
