"""What all Ray nodes need that tests start by hand, beside whatever runs on this machine."""

from __future__ import annotations

from pathlib import Path

import requests

from pipeline.ops.cluster.client import Address

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
