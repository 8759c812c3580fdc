"""Processes that a test started, however far down and whoever adopted them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil


def alive(home: Path, name: str = "") -> list[psutil.Process]:
    """The living processes in the environment of a home: ``conftest.environment``.

    Args:
        home: The home.
        name: What the processes are called; anything if empty.
    """
    return [process for process in psutil.process_iter() if _is_of(process, home, name)]


def _is_of(process: psutil.Process, home: Path, name: str) -> bool:
    try:
        if process.environ().get("PREFECT_HOME") != str(home / "prefect"):
            return False
        return name in ("", process.name()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait for a condition; return whether it came true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
