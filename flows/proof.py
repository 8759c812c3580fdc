"""A smoke test of Prefect with an installed set of packages.

Run with ``python -m flows.proof``; ``make lock`` does before it accepts new constraints. A flow
with one task uses Prefect's temporary server, and Prefect's command line lists the content of
another: two paths through its API, which can break separately.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.server import await_answer
from pipeline.base.ports import free_ports
from pipeline.base.processes import end_group

LISTINGS = (("work-pool", "ls"), ("deployment", "ls"), ("flow-run", "ls"))
_STOP_SECONDS = 20.0


@task(cache_policy=NO_CACHE)
def double(number: int) -> int:
    return 2 * number


@flow
def proof() -> int:
    result: int = double(21)
    return result


@contextmanager
def server() -> Iterator[str]:
    """Start a Prefect server on a free loopback port, yield its API's address, leave nothing."""
    (port,) = free_ports(1)
    command = [*_prefect("server", "start", "--host", "127.0.0.1"), "--port", str(port), "--no-ui"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}/api"
        await_answer(f"{address}/health", process)
        yield address
    finally:
        end_group(process, signal.SIGTERM, _STOP_SECONDS)


def list_all(address: str) -> None:
    for listing in LISTINGS:
        environment = {**os.environ, "PREFECT_API_URL": address}
        subprocess.run(_prefect(*listing), env=environment, check=True)


def _prefect(*words: str) -> list[str]:
    return [sys.executable, "-m", "prefect", *words]


if __name__ == "__main__":
    assert proof() == 42
    with server() as address:
        list_all(address)
