"""What Ray clusters need that tests start, beside whatever runs on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import requests

from pipeline.ops.cluster.client import Address, Client, connect

STORE = 100 * 2**20  # bytes; Ray wants 75 MiB at least
_FREE = (
    *("dashboard-agent-listen", "dashboard-agent-grpc", "runtime-env-agent", "metrics-export"),
    *("min-worker", "max-worker"),
)
FLAGS = (f"--object-store-memory={STORE}", *(f"--{name}-port=0" for name in _FREE))
"""Of ``ray start``: a small object store, and any free port for all that is not asked from afar."""


def python_without_blanks(python: Path, folder: Path) -> Path:
    """An interpreter by a path in a folder: Ray starts workers by its path, unquoted."""
    link = folder / "environment"
    link.symlink_to(python.parent.parent, target_is_directory=True)
    return link / "bin" / python.name


def alive(address: Address) -> set[str]:
    """The addresses of the nodes that Ray counts as alive."""
    try:
        found = address.get("/api/v0/nodes", 5.0).json()["data"]["result"]["result"]
    except (requests.RequestException, ValueError, KeyError, TypeError):
        return set()  # it is starting, or gone
    return {node["node_ip"] for node in found if node["state"] == "ALIVE"}


def without_ray() -> dict[str, str]:
    """The environment of who uses no cluster."""
    return {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}


def named(address: Address) -> dict[str, str]:
    """What a user of a cluster has in the environment."""
    return {"RAY_ADDRESS": address.url, "RAY_AUTH_TOKEN": str(address.token)}


def used(address: Address, to: pytest.MonkeyPatch) -> Client:
    """Name a cluster in this process's environment; return a client of it."""
    for name, text in named(address).items():
        to.setenv(name, text)
    return connect(address)
