"""Programs that are started in order, restarted when they end, and stopped together."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_START_SECONDS, _STOP_SECONDS = 300.0, 20.0


@dataclass
class Server:
    """A program that is restarted when it ends.

    Attributes:
        name: Of its log.
        command: What starts it.
        ready: Says whether it answers.
        environment: Variables of its own.
        user: Whose process it is; this one's if None.
        stop: The signal that ends it gently.
    """

    name: str
    command: list[str]
    ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    stop: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None

    def start(self, logs: Path) -> None:
        """Start it, with its output in a log."""
        with (logs / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **as_user(self.user),
            )

    def ended(self) -> bool:
        """Whether it has ended, or was never started."""
        return self.process is None or self.process.poll() is not None

    def end(self) -> None:
        """Ask it to stop, and kill its process group if it does not."""
        if self.process is None or self.ended():
            return
        self.process.send_signal(self.stop)
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def keep_running(
    servers: Sequence[Server],
    logs: Path,
    prepare: Callable[[Server], None],
    hand_over: Callable[[], None],
) -> None:
    """Start servers one after the other, and restart those that end, until a signal comes.

    Args:
        servers: In the order in which they need each other.
        logs: Folder of their output.
        prepare: Called with each server once it answers.
        hand_over: Called when all of them answer.
    """
    logs.mkdir(parents=True, exist_ok=True)
    try:
        for server in servers:
            server.start(logs)
            _await(server, logs)
            prepare(server)
        hand_over()
        while True:
            time.sleep(1)
            for server in servers:
                if server.ended():
                    server.start(logs)
    finally:
        for server in reversed(servers):
            server.end()


def _await(server: Server, logs: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not server.ready():
        if server.ended() or time.monotonic() > deadline:
            raise RuntimeError((logs / f"{server.name}.log").read_text())
        time.sleep(0.2)


def as_user(user: str | None) -> dict[str, Any]:
    """The arguments of Popen for a process of a user."""
    return {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid}


def answers(url: str) -> bool:
    """Whether a server answers, be it with a demand for a password."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
