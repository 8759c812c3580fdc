"""A private Ray head on this machine: loopback, free ports, its own token, always taken down.

What ``ray.init`` starts by itself (Ray 2.60, as verl would) listens on all addresses, asks for no
token, and outlives a killed process in part: agents of its dashboard were there 30 s later.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import requests

from pipeline.base.errors import TransientError, UserError
from pipeline.base.ports import free_ports
from pipeline.ops.cluster.client import Address
from pipeline.ops.cluster.job import ADDRESS_VARIABLES

KEEPER = Path(__file__).with_name("keeper.py")
START_SECONDS = 240.0
CLOSE_SECONDS = 30.0
PORT_ATTEMPTS = 3  # somebody may take a free port before the head does
# Unix socket paths end at 107 bytes; Ray's own part of them takes about 64.
LONGEST_FOLDER = 30
# Ray replaces 127.0.0.1 by the machine's outward address, where it would then listen.
NODE_ADDRESS = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"


def find_engine_python(environment: Mapping[str, str]) -> Path | None:
    """The interpreter of the engine environment, or None if none is named and none is here.

    Raises:
        UserError: If one is named that is none.
    """
    if environment.get("TOMRL_ENGINE_PYTHON") or _beside().exists():
        return engine_python(environment)
    return None


def _beside() -> Path:
    """The engine environment's interpreter beside this one: a sweep's worktrees have neither."""
    return Path(sys.prefix).parent / ".venv-engines" / "bin" / "python"


def engine_python(environment: Mapping[str, str]) -> Path:
    """The interpreter of the engine environment.

    Raises:
        UserError: If there is none.
    """
    named = environment.get("TOMRL_ENGINE_PYTHON")
    python = Path(named or _beside()).absolute()
    if not os.access(python, os.X_OK) or python.is_dir():
        origin = f"TOMRL_ENGINE_PYTHON={named}" if named else str(python)
        raise UserError(
            f"{origin}: no such interpreter, and without RAY_ADDRESS the job runs on a private "
            "head in the engine environment. Build it with `make test-engines`, set "
            "TOMRL_ENGINE_PYTHON to a Python that has verl and Ray, or RAY_ADDRESS to a cluster"
        )
    return python


def engine_environment(python: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which ``python`` is the engine's and no other cluster is named."""
    kept = {name: text for name, text in environment.items() if name not in ADDRESS_VARIABLES}
    path = os.pathsep.join([str(python.parent), environment.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def private_head(
    python: Path,
    environment: Mapping[str, str],
    gpus: int,
    cpus: int,
    handles: Collection[int] = (),
) -> Iterator[Address]:
    """Start a head, yield its address when it takes jobs, and leave nothing of it.

    Args:
        python: Interpreter that has Ray; the head's jobs find it as ``python``.
        environment: What the head and its jobs inherit.
        gpus: Accelerators that the head offers. Ray counts them, looks for none and binds none.
        cpus: Processor cores that it offers, in the same way.
        handles: Files that stay open for as long as anything of the head lives.

    Raises:
        TransientError: If it does not start.
    """
    token = secrets.token_hex(32)
    inherited = {
        **engine_environment(python, environment),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
    }
    inherited.pop("RAY_AUTH_TOKEN_PATH", None)
    started = time.monotonic()
    for attempt in range(1, PORT_ATTEMPTS + 1):
        port, client_port = free_ports(2)
        command = _command(python.name, port, client_port, gpus, cpus)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            keeper = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    str(KEEPER),
                    _short_folder(),
                    str(python.parent.parent),
                    *command,
                ],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=inherited,
                pass_fds=tuple(handles),
                start_new_session=True,  # Ctrl-C in the terminal is for this process to handle
            )
            address = Address(
                f"http://127.0.0.1:{port}",
                token,
                "the private Ray head of this machine",
                partial(_lives, keeper),
            )
            try:
                if _ready(keeper, address):
                    yield address
                    return
            finally:
                _close(keeper)
            if attempt == PORT_ATTEMPTS or time.monotonic() - started > START_SECONDS:
                raise TransientError(f"no private Ray head starts with {python}:\n{_tail(output)}")


def _command(python: str, port: int, client_port: int, gpus: int, cpus: int) -> list[str]:
    flags: dict[str, str | int] = {
        "node-ip-address": NODE_ADDRESS,
        "port": 0,
        "dashboard-host": "127.0.0.1",
        "dashboard-port": port,
        "dashboard-agent-listen-port": 0,
        "dashboard-agent-grpc-port": 0,
        "runtime-env-agent-port": 0,
        "metrics-export-port": 0,
        "ray-client-server-port": client_port,
        "min-worker-port": 0,
        "max-worker-port": 0,
        "temp-dir": "{folder}",
        "num-gpus": gpus,
        "num-cpus": cpus,
    }
    return [
        "{folder}/environment/bin/" + python,
        *("-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *(f"--{name}={value}" for name, value in flags.items()),
    ]


def _short_folder() -> str:
    """A folder for temporary files whose path leaves room for Ray's sockets."""
    usual = tempfile.gettempdir()
    fits = len(os.fsencode(usual)) <= LONGEST_FOLDER and not any(map(str.isspace, usual))
    return usual if fits else "/tmp"


def _ready(keeper: subprocess.Popen[bytes], address: Address) -> bool:
    """Wait until the head has a live node; False if it ended or took too long."""
    deadline = time.monotonic() + START_SECONDS
    while keeper.poll() is None and time.monotonic() < deadline:
        try:
            answer = address.get("/api/v0/nodes", 5.0)
            if answer.status_code in (401, 403):
                return False  # another cluster was faster to take the port
            nodes = answer.json()["data"]["result"]["result"]
            if any(node["state"] == "ALIVE" for node in nodes):
                return True
        except (requests.RequestException, ValueError, KeyError, TypeError):
            pass  # it is starting
        time.sleep(0.2)
    return False


def _close(keeper: subprocess.Popen[bytes]) -> None:
    """Let the keeper take the head down; it does so as well if this process dies meanwhile."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    keeper.wait(CLOSE_SECONDS)


def _lives(keeper: subprocess.Popen[bytes]) -> bool:
    """Whether a head has not ended."""
    return keeper.poll() is None


def _tail(output: IO[str]) -> str:
    output.seek(0)
    return "".join(output.readlines()[-15:]).strip()
