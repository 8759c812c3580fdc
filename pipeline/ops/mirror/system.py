"""What a machine does while a long stage works: processor, memory, disk, network, accelerators.

Read with MLflow's own monitors, every half minute; a stage that ends before has no such figures.
They are written to ``logs/`` first, so that none is lost while MLflow is out of reach.
"""

from __future__ import annotations

import json
import logging
import math
import time
from functools import cached_property
from pathlib import Path

FILE = "system.jsonl"
SECONDS_BETWEEN = 30.0
log = logging.getLogger(__name__)


class Samples:
    """What the machine does, sampled while a stage works.

    Args:
        folder: Receives the samples, in ``system.jsonl``, after those that are there.
        between: Seconds between two samples, and before the first.
    """

    def __init__(self, folder: Path, between: float = SECONDS_BETWEEN) -> None:
        self._path, self._between = folder / FILE, between
        self._due = time.monotonic() + between
        self._step = max((int(row["step"]) for row in read_samples(folder)), default=0)

    def when_due(self) -> tuple[int, dict[str, float], float] | None:
        """A sample with its number and its time, if it is time for one."""
        if time.monotonic() < self._due:
            return None
        self._due = time.monotonic() + self._between
        try:
            at, figures = time.time(), _sample(self._monitors)
            line = json.dumps({"step": self._step + 1, "at": at, **figures})
            with self._path.open("a", encoding="utf-8") as file:
                print(line, file=file)
        except Exception as error:  # a look at the machine stops nothing
            log.warning("no further system metrics: %s", error)
            self._due = math.inf
            return None
        self._step += 1
        return self._step, figures, at

    @cached_property
    def _monitors(self) -> list[object]:
        return _monitors()


def read_samples(folder: Path) -> list[dict[str, float]]:
    """The samples of a stage, with ``step`` and ``at``; a line cut short is left out."""
    path = folder / FILE
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
            found.append({str(name): float(value) for name, value in row.items()})
        except (ValueError, TypeError, AttributeError):
            log.warning("%s: a line cannot be read and is left out", path)
    return [row for row in found if {"step", "at"} <= row.keys()]


def _monitors() -> list[object]:
    """MLflow's monitors that work on this machine."""
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
    from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

    found: list[object] = [CPUMonitor(), DiskMonitor(), NetworkMonitor()]
    try:
        found.append(GPUMonitor())
    except Exception as error:  # no NVIDIA driver, or no library for it
        log.debug("no accelerators to look at: %s", error)
    return found


def _sample(monitors: list[object]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for monitor in monitors:
        monitor.collect_metrics()  # type: ignore[attr-defined]  # MLflow's, which has no types
        figures |= monitor.aggregate_metrics()  # type: ignore[attr-defined]
        monitor.clear_metrics()  # type: ignore[attr-defined]
    return figures
