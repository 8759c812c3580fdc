"""A Prefect server on loopback, of which nothing is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.server import await_answer
from pipeline.base.ports import free_ports
from pipeline.base.processes import end_group
from tests.conftest import prefect_home

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


@contextmanager
def own_server(home: Path, **variables: str) -> Iterator[SyncPrefectClient]:
    """Start a server for this process and those that it starts; yield a client of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(prefect_home(home)))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        for name, value in variables.items():
            patch.setenv(name, value)
        with (
            server() as address,
            temporary_settings({PREFECT_API_URL: address}),
            get_client(sync_client=True) as client,
        ):
            patch.setenv("PREFECT_API_URL", address)
            yield client
