"""Prefect's temporary server, ending with this process.

Prefect starts its own as a plain child, which survives a kill.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, get_current_settings

from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.base.processes import end_group, ending_with_this

_START_SECONDS, _STOP_SECONDS, _ANSWER_SECONDS = 120.0, 5.0, 10.0
# What Prefect says to a temporary server of its own: no pages, no services.
_VARIABLES = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
    # SQLite has one writer at a time, and on a busy machine each takes its while.
    "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
}


def start_temporary_server() -> None:
    """Give Prefect a server until this process ends, unless ``PREFECT_API_URL`` names one."""
    if named := PREFECT_API_URL.value():
        _check_answer(named)
        return
    (port,) = free_ports(1)
    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    # It complains when it is stopped, which nobody needs to read.
    output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, it lasts as long
    process = subprocess.Popen(
        ending_with_this(
            *("uvicorn", "--factory", "prefect.server.api.server:create_app"),
            *("--host", "127.0.0.1", "--port", str(port), "--log-level", "error"),
        ),
        env={**os.environ, **_VARIABLES, **settings},
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    # After Prefect's threads, which send their last words at exit.
    atexit.register(end_group, process, signal.SIGTERM, _STOP_SECONDS)
    try:
        await_answer(f"http://127.0.0.1:{port}/api/health", process)
    except UserError as error:
        output.seek(0)
        raise UserError(f"{error}. It said:\n{''.join(output.readlines()[-15:])}") from None
    _hand_over(process, port)


def _check_answer(address: str) -> None:
    """Refuse an address where no server answers, which Prefect would retry for minutes."""
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=_ANSWER_SECONDS):
            return
    except urllib.error.HTTPError:
        return  # it wants to know who asks, and Prefect will say
    except (OSError, ValueError) as error:
        raise UserError(
            f"PREFECT_API_URL={address}: no Prefect server answers there "
            f"({getattr(error, 'reason', error)}). Start it, or unset PREFECT_API_URL (`prefect "
            "config unset PREFECT_API_URL`) to use a temporary server of this process"
        ) from None


def _hand_over(process: subprocess.Popen[bytes], port: int) -> None:
    """Have every client of Prefect in this process use a server instead of starting another."""
    known = SubprocessASGIServer()
    known.port, known.server_process, known.running = port, process, True


def await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers; UserError if it ends before, or takes too long."""
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise UserError(
        f"no Prefect server answers at {url} within {_START_SECONDS:.0f} s; set PREFECT_API_URL to "
        "one that runs, or use `dvc repro`, which needs none"
    )
