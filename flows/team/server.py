"""Programs that are kept running: started in order, started again when they end, all stopped."""

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

from pipeline.base.errors import UserError

_START_SECONDS, _STOP_SECONDS = 300.0, 20.0


@dataclass
class Server:
    """A program that is kept running.

    Attributes:
        name: What messages call it.
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
        """Start it; what it says goes to a file."""
        with (logs / f"{self.name}.log").open("ab") as said:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **as_user(self.user),
            )

    def ended(self) -> bool:
        """Return whether it has ended, or was never started."""
        return self.process is None or self.process.poll() is not None

    def end(self) -> None:
        """Ask it to stop, and kill its process group if it does not."""
        if self.process is None or self.process.poll() is not None:
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
    """Start servers one after the other, and start again what ends, until a signal comes.

    Args:
        servers: In the order in which they need each other.
        logs: Folder of what they say.
        prepare: Makes what the next ones need of one that has just begun to answer.
        hand_over: Is called when all of them answer.

    Raises:
        UserError: If one does not start.
    """
    logs.mkdir(parents=True, exist_ok=True)
    try:
        for server in servers:
            server.start(logs)
            _await(server, logs)
            prepare(server)
            print(f"{server.name} runs", flush=True)
        hand_over()
        while True:
            time.sleep(1)
            for server in servers:
                if server.ended():
                    print(f"{server.name} ended; it is started again", flush=True)
                    server.start(logs)
    finally:
        for server in reversed(servers):
            server.end()


def _await(server: Server, logs: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not server.ready():
        if server.ended() or time.monotonic() > deadline:
            raise UserError(f"{server.name} does not start; see {logs / f'{server.name}.log'}")
        time.sleep(0.2)


def as_user(user: str | None) -> dict[str, Any]:
    """Return what starts a process as a user."""
    return {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid}


def answers(url: str) -> bool:
    """Return whether a server answers, be it that it wants to know who asks."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
