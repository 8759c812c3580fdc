"""A Prefect server on loopback, of which nothing is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from flows.server import await_answer
from pipeline.base.ports import free_ports
from pipeline.base.processes import end_group

_STOP_SECONDS = 20.0


@contextmanager
def server() -> Iterator[str]:
    """Start a Prefect server on a free port, and yield its API's address."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--no-ui"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}/api"
        await_answer(f"{address}/health", process)
        yield address
    finally:
        end_group(process, signal.SIGTERM, _STOP_SECONDS)
