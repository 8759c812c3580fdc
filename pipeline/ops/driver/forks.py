"""Commands of DVC that are forked from one process, which has imported what they and stages need.

Importing takes longer than most stages of a small study do: DVC a second, PyTorch and transformers
several. A server pays for that once a run. It forks for each command of DVC, which forks again for
each of its stages (:mod:`pipeline.ops.driver.dvc`). The server computes nothing, so that no library
has started a thread, and a fork finds all as after an import.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from pipeline.base.processes import end_group, ending_with_this, lead_group

IMPORTED = (
    *("dvc.cli", "dvc.commands.repro", "dvc.repo.reproduce", "dvc.stage.run"),
    *("pipeline.stages.acquire", "pipeline.stages.judge", "pandas", "sklearn.ensemble", "torch"),
    *("torch._dynamo", "transformers.models.qwen2.modeling_qwen2"),
    *("pipeline.evaluate.hf_engine", "pipeline.stages.train_local", "pipeline.stages.report"),
)
_MOST_BYTES = 2**16  # of a request


class Forked:
    """A command that the server has forked, in a session of its own.

    Attributes:
        pid: Its process, and that of its group.
        stdout: What it and its stages print.
    """

    def __init__(self, pid: int, output: socket.socket, ended: socket.socket) -> None:
        self.pid, self._ended = pid, ended
        with output:
            self.stdout = output.makefile(encoding="utf-8", errors="replace")

    def poll(self) -> int | None:
        """Its exit status, if it has ended; that of SIGKILL, if it was killed."""
        return self.wait(0) if select.select([self._ended], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status; raises :class:`subprocess.TimeoutExpired`."""
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("dvc", timeout or 0)
        return int(self._ended.recv(16, socket.MSG_PEEK) or -signal.SIGKILL)


class ForkServer:
    """The process that forks, for one checkout; it ends with this one, however that ends."""

    def __init__(self, checkout: Path, environment: Mapping[str, str]) -> None:
        self.checkout = checkout
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                ending_with_this(__name__, str(theirs.fileno())),
                cwd=checkout,
                env={**environment, "SPT_NOENV": "1"},  # titles of forks leave it to be seen
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def start(self, arguments: list[str]) -> Forked | None:
        """Start DVC with some arguments; None if the server is gone. One thread at a time."""
        output, their_output = socket.socketpair()
        ended, their_end = socket.socketpair()
        with their_output, their_end:
            try:
                passed = [their_output.fileno(), their_end.fileno()]
                socket.send_fds(self._socket, [json.dumps(arguments).encode()], passed)
                return Forked(int(self._socket.recv(16)), output, ended)
            except (OSError, ValueError):
                return None

    def close(self) -> None:
        self._socket.close()
        end_group(self._process, None)


def fork(body: Callable[[], object], ended: int | None = None) -> int:
    """Run a body in a fork of this process, which ends as a program does; its process id.

    Args:
        body: What to run.
        ended: A file descriptor to which the exit status is written.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if pid := os.fork():
        return pid
    status = 1
    try:
        atexit._clear()
        body()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        if ended is not None:
            os.write(ended, str(status).encode())
        os._exit(status)


def _serve(asked: socket.socket) -> None:
    """Answer requests until whoever asks is gone, and import meanwhile."""
    left = list(IMPORTED)
    while True:
        if left and not select.select([asked], [], [], 0)[0]:
            with suppress(Exception):  # a stage that needs it will say what is wrong
                importlib.import_module(left.pop(0))
            continue
        request, passed, *_ = socket.recv_fds(asked, _MOST_BYTES, 2)
        if not request:
            return
        with suppress(ChildProcessError):  # who has ended keeps its process id until now
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        output, ended = passed
        run = partial(_run_dvc, asked, json.loads(request), output, os.getpid())
        asked.send(str(fork(run, ended)).encode())
        os.close(output)
        os.close(ended)


def _run_dvc(asked: socket.socket, arguments: list[str], output: int, parent: int) -> None:
    from setproctitle import setproctitle

    from pipeline.ops.driver.dvc import main

    asked.close()
    lead_group(parent)
    os.dup2(output, 1)
    os.dup2(output, 2)
    setproctitle(" ".join(["dvc", *arguments]))
    sys.exit(main(arguments, forks=True))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
