"""Running commands: a process group each, with streamed output, stoppable."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Self

from pipeline.base.processes import GRACE_SECONDS, end_group, signal_group
from pipeline.ops.driver.checkout import dvc_command, stage_environment
from pipeline.ops.driver.forks import Forked, ForkServer


class Commands:
    """Commands of DVC, started by several threads.

    A context that stops running commands at its end. If the process is killed, they stop by
    themselves.
    """

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str] | Forked] = []
        self._lock, self._closed = Lock(), False
        self._forks: ForkServer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._forks is not None:
            self._forks.close()

    def fork_stages(self, tree: Path) -> None:
        """Have :meth:`dvc` fork from one process, which imports what stages need, from now on."""
        if sys.platform == "linux" and self._forks is None:
            self._forks = ForkServer(tree, stage_environment())

    def dvc(self, arguments: list[str], hear: Callable[[str], None], tree: Path) -> int:
        """Run a command in a checkout, pass on its output line by line, return its exit status.

        After :meth:`stop` nothing is started, and the status is that of a stopped command.
        """
        forks = self._forks if self._forks and self._forks.checkout == tree else None
        with self._lock:
            if self._closed:
                return -signal.SIGINT
            process = (forks and forks.start(arguments)) or _start(arguments, tree)
            self._running.append(process)
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                hear(line.rstrip())
        status = process.wait()
        with self._lock:
            self._running.remove(process)
        return status

    @property
    def stopped(self) -> bool:
        return self._closed

    def stop(self) -> None:
        """Interrupt all process groups, and kill those that do not end.

        DVC waits for its stage after Ctrl-C, but would end alone at once after SIGTERM. Groups are
        interrupted once, however many threads call this: a second Ctrl-C would interrupt a stage
        that is saving its state.
        """
        with self._lock:
            asked, self._closed = self._closed, True
            running = [process for process in self._running if process.poll() is None]
        for process in running if not asked else ():
            signal_group(process, signal.SIGINT)
        deadline = time.monotonic() + GRACE_SECONDS
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                end_group(process, None)


def _start(arguments: list[str], where: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        dvc_command(*arguments),
        cwd=where,
        env=stage_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
