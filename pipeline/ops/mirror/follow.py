"""The process that shows a stage of a cell in MLflow while it works.

``python -m pipeline.ops.mirror.follow KEY STAGE`` reads what the stage says in ``live.jsonl``, and
has MLflow watch the machine, until its standard input ends: that is when the stage does, even by
SIGKILL.
Then it sends what the stage has left, as ``tomrl sync`` would. It never stops a stage: what MLflow
does not take is said once and sent later.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.base.errors import first_line
from pipeline.config.params_file import read_params
from pipeline.formats.files import AppendedLines
from pipeline.ops.mirror.cell_run import CellRun, cell_run
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.send import send_stage
from pipeline.ops.mirror.server import tracking_uri
from pipeline.stages.followed import LIVE, Ended, read_ended

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_SAMPLES = 30
log = logging.getLogger(__name__)


def follow(done: Done) -> None:
    """Show a stage until standard input ends, and then how it ended.

    Args:
        done: The stage, which has begun.

    Raises:
        UserError: If MLflow does not answer.
    """
    live = AppendedLines(done.logs / LIVE)
    begun = next(iter(live.new()))
    began, where = float(begun["began"]), begun["circumstances"]
    run = cell_run(done.params, done.key, done.root, done.stage, began, where)
    run.begin(where)
    with _watched(run, tracking_uri(done.root)):
        is_over = False
        while not is_over:
            is_over = _has_ended()
            for line in live.new():
                _show(run, line)
    ended = read_ended(done.logs)
    if ended is None or ended.began != began:  # killed before it could say so
        Ended("KILLED", began, time.time() - began, where).leave(done.logs)
    send_stage(run.cell, run.study, Done(done.params, done.key, done.stage, done.root))


@contextmanager
def _watched(run: CellRun, uri: str) -> Iterator[None]:
    """Have MLflow watch processor, memory, disk, network and accelerators of this machine."""
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    monitor = SystemMetricsMonitor(
        run.cell.run_id, _SECONDS_BETWEEN_SAMPLES, resume_logging=True, tracking_uri=uri
    )
    monitor.start()
    try:
        yield
    finally:
        monitor.finish()


def _show(run: CellRun, line: dict[str, Any]) -> None:
    if "step" in line:
        run.cell.step(*line["step"])
    else:
        run.cell.tags(line["tags"])


def _has_ended() -> bool:
    """Wait a moment; return whether standard input has ended."""
    ready, _, _ = select.select([sys.stdin], [], [], _SECONDS_BETWEEN_LOOKS)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def main() -> None:
    """Follow the stage that the command line names; signals are for the stage."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    key, stage = sys.argv[1:]
    try:
        follow(Done(read_params(), key, stage, Path.cwd()))
    except Exception as error:
        log.warning(
            "MLflow is not told of %s@%s (%s): the files hold everything, send them later with: "
            "tomrl sync",
            stage,
            key,
            first_line(error),
        )


if __name__ == "__main__":
    main()
