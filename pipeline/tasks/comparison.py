"""Comparing an expression with the truth by math-verify, in a worker that can be killed."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import IO

from pipeline.base.errors import UserError
from pipeline.tasks import math_worker
from pipeline.tasks.grading import TooLate

_SECONDS = math_worker.SECONDS + 2  # for a worker with which something is wrong
_SECONDS_TO_START = 120.0
_PACKAGES = Path(__file__).parents[2]


def equals(expression: str, truth: str) -> bool:
    """Compare the values of two expressions.

    Safe in any thread and after a fork: each process has its own worker, from the first comparison
    to the end of the process.

    Raises:
        TooLate: If the library exceeds its time limit.
        UserError: If the worker does not start.
    """
    return _worker_of(os.getpid()).compare(expression, truth)


@cache
def _worker_of(process: int) -> _Worker:
    """Keyed by process id: after a fork, the parent's worker is out of reach."""
    return _Worker()


class _Worker:
    """A comparing process, started on demand and restarted after its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def compare(self, expression: str, truth: str) -> bool:
        question = json.dumps([expression, truth]).encode() + b"\n"
        with self._lock:
            # Asked twice where it has ended since the last question, as by a signal to its group.
            answer = self._answer(question) or self._answer(question) or math_worker.LATE
        if answer == math_worker.LATE:
            raise TooLate("math-verify did not end in time")
        return answer == math_worker.RIGHT

    def _answer(self, question: bytes) -> str:
        """The reply; empty if the process has ended instead."""
        process = self._process or _start()
        self._process = None  # kept only if it answers: what it says later is for no one
        try:
            os.write(_number_of(process.stdin), question)
            answer = _read_line(process, _SECONDS)
            if answer:
                self._process = process
            return answer
        except BrokenPipeError:
            return ""
        except TimeoutError:
            return math_worker.LATE
        finally:
            if self._process is None:
                _end(process)


def _start() -> subprocess.Popen[bytes]:
    """Start a worker, in this package's folder so that it imports no file of the caller's."""
    command = [sys.executable, "-m", math_worker.__name__, str(os.getpid())]
    process = subprocess.Popen(
        command, cwd=_PACKAGES, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        if _read_line(process, _SECONDS_TO_START) == math_worker.READY:
            return process
        why = f"it ended with status {process.wait()}"
    except TimeoutError:
        why = f"it is not ready after {_SECONDS_TO_START:.0f} s"
    except BaseException:
        _end(process)
        raise
    _end(process)
    raise UserError(
        f"the process that compares expressions does not start ({why}); see what it says with: "
        f"{' '.join(command[:-1])} 0"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _read_line(process: subprocess.Popen[bytes], seconds: float) -> str:
    """The next (short) line, empty at the end; TimeoutError if none comes in time."""
    output = _number_of(process.stdout)
    poll = select.poll()  # select() knows no file above number 1023
    poll.register(output, select.POLLIN)
    if not poll.poll(seconds * 1000):
        raise TimeoutError
    return os.read(output, 64).decode().strip()


def _number_of(pipe: IO[bytes] | None) -> int:
    assert pipe is not None  # both are asked for
    return pipe.fileno()
