"""Processes that a test started, however far down and whoever adopted them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

Found = TypeVar("Found")


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


def until(condition: Callable[[], Found], seconds: float = 60.0, every: float = 0.05) -> Found:
    """Wait for a condition; return what it gave, which is false if the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(every)
    return found
