"""Processes that end with the one that started them, however that ends.

A thread polls, as the kernel's ``PR_SET_PDEATHSIG`` comes when the parent *thread* ends, which for
a worker may be at once.

``python -m pipeline.base.processes PARENT MODULE ...`` runs a module, such as ``dvc``, as ``python
-m MODULE ...`` would, and ends it with its parent process PARENT.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Protocol

import psutil

GRACE_SECONDS = 10.0
"""Seconds between asking a process to stop and killing it.

With the polling of cancelled runs, all has ended within 15 s.
"""

_SECONDS_BETWEEN_LOOKS = 0.5
_DVC_STAGE = "DVC_STAGE"  # DVC sets it for every command of a stage
_SHELLS = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "zsh"})
_FIRST = 1  # the process that adopts orphans, unless another one asked for them


class Terminated(KeyboardInterrupt):
    """SIGTERM; handled like Ctrl-C."""


def was_stopped(error: BaseException | None) -> bool:
    """An error was caused by a stop, possibly wrapped by a library."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def raise_on_sigterm() -> None:
    def terminate(signum: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)


def end_with_parent(end: Callable[[], None] | None = None, parent: int | None = None) -> None:
    """Have this process end when its parent has, even by SIGKILL.

    ``end`` replaces the SIGKILL to this process. A given ``parent`` counts even if it ended before.
    """
    known = os.getppid() if parent is None else parent
    _watch(lambda: os.getppid() == known, end or _kill_this)


def end_with_dvc() -> None:
    """Stop this process, if DVC runs it as a stage, when DVC is gone, even by SIGKILL.

    It gets SIGTERM, and SIGKILL if it takes too long. DVC runs a stage through a shell, which some
    shells replace by the stage.
    """
    if _DVC_STAGE in os.environ:
        line = _line_to_dvc()
        _watch(lambda: line is not None and _is_whole(line), stop_this)


def _watch(goes_on: Callable[[], bool], end: Callable[[], None]) -> None:
    def watch() -> None:
        while goes_on():
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        end()

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def _line_to_dvc() -> list[psutil.Process] | None:
    """This process and those above it up to its DVC; None if that is gone.

    DVC is the first that is no shell. An orphan's new parent has a session of its own or is the
    first process of all, and neither starts a stage unless it is DVC.
    """
    line = [psutil.Process()]
    try:
        while True:
            parent = line[-1].parent()
            if parent is None or os.getsid(parent.pid) != os.getsid(0):
                return None
            line.append(parent)
            if parent.name() not in _SHELLS:
                return line if parent.pid != _FIRST or _is_dvc(parent) else None
    except (psutil.Error, ProcessLookupError):
        return None


def _is_dvc(process: psutil.Process) -> bool:
    return any(Path(word).name == "dvc" for word in process.cmdline())


def _is_whole(line: list[psutil.Process]) -> bool:
    try:
        return all(child.ppid() == parent.pid for child, parent in pairwise(line))
    except psutil.Error:
        return False


def stop_this() -> None:
    """Send this process SIGTERM, and SIGKILL if it does not end."""
    # To the main thread, whose call to the system it interrupts: any other thread could take it.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    _kill_this()


def _kill_this() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def began(pid: int) -> int | None:
    """The start of a process, in units of its system; None if there is none (any more).

    With its process id it identifies one process of one boot of one machine.
    """
    try:
        content = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _began_elsewhere(pid)
    fields = content.rpartition(")")[2].split()  # what stands before may hold anything
    return None if fields[0] in "ZX" else int(fields[19])  # proc(5): dead, or starttime


def lives(pid: int, since: int) -> bool:
    """The process with this start is alive; True where that is unknown."""
    try:
        return began(pid) == since
    except PermissionError:  # another user's, where the system hides those
        return True


def space() -> str:
    """An id shared by processes that see each other: boot and process namespace.

    Empty where it is unknown, as outside of Linux.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _began_elsewhere(pid: int) -> int | None:
    """:func:`began` without ``/proc``."""
    try:
        return int(psutil.Process(pid).create_time() * 1000)
    except psutil.Error:
        return None


class Started(Protocol):
    """A process that was started in a session of its own."""

    @property
    def pid(self) -> int: ...

    def wait(self, timeout: float | None = None) -> int: ...


def end_group(process: Started, asked: signal.Signals | None, grace: float = GRACE_SECONDS) -> None:
    """End a process started in a new session, with its descendants there."""
    if asked is not None:
        signal_group(process, asked)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
            return
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process: Started, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def ending_with_this(module: str, *arguments: str) -> list[str]:
    """The command that runs a module until this process ends; start it in a new session."""
    return [sys.executable, "-m", "pipeline.base.processes", str(os.getpid()), module, *arguments]


def lead_group(parent: int) -> None:
    """Have this process lead a session of its own, all of which ends with the process ``parent``.

    It is interrupted, and killed if it takes too long.
    """
    if os.getsid(0) != os.getpid():
        os.setsid()  # what is asked to stop below is this and what it starts, nobody else
    # A shell's background job ignores Ctrl-C, which is how whoever started this asks it to stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_with_parent(_stop_group, parent)


def _main(parent: str, module: str, *arguments: str) -> None:
    lead_group(int(parent))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _stop_group() -> None:
    os.killpg(0, signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    _main(*sys.argv[1:])
