"""What a machine does while a long stage works: processor, memory, disk, network, accelerators.

Read with MLflow's own monitors, every half minute; a stage that ends before has no such figures.
They are written to ``logs/`` first, so that none is lost while MLflow is out of reach.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

FILE = "system.jsonl"
SECONDS_BETWEEN = 30.0
log = logging.getLogger(__name__)

Hear = Callable[[int, Mapping[str, object], float], None]
"""Receives the number of a sample, its figures by name, and when it was, since the epoch."""


@contextmanager
def watched(folder: Path, hear: Hear, between: float = SECONDS_BETWEEN) -> Iterator[None]:
    """Sample the machine while the block runs.

    Args:
        folder: Receives the samples, in ``system.jsonl``, after those that are there.
        hear: Receives each sample.
        between: Seconds between two samples, and before the first.
    """
    over = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(folder, hear, over, between), name="system metrics", daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def read_samples(folder: Path) -> list[dict[str, float]]:
    """Return the samples of a stage, with ``step`` and ``at``; a line cut short is left out."""
    path = folder / FILE
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
            found.append({str(name): float(value) for name, value in row.items()})
        except (ValueError, TypeError, AttributeError):
            log.warning("%s: a line cannot be read and is left out", path)
    return [row for row in found if {"step", "at"} <= row.keys()]


def _watch(folder: Path, hear: Hear, over: threading.Event, between: float) -> None:
    if over.wait(between):
        return
    try:
        monitors = _monitors()
        step = max((int(row["step"]) for row in read_samples(folder)), default=0)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / FILE).open("a", encoding="utf-8") as file:
            while True:
                step, at, figures = step + 1, time.time(), _sample(monitors)
                print(json.dumps({"step": step, "at": at, **figures}), file=file, flush=True)
                hear(step, figures, at)
                if over.wait(between):
                    return
    except Exception as error:  # a look at the machine stops no stage
        log.warning("no further system metrics: %s", error)


def _monitors() -> list[object]:
    """Return MLflow's monitors that work on this machine."""
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
