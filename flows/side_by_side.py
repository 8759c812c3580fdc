"""Running a study with DVC, cells that do not depend on each other side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flows.commands import Commands
from flows.order import CELL_STAGES, changed_stages
from pipeline.checkout import dvc_command
from pipeline.config.models import TinyModel
from pipeline.config.params import AskedCell, Params, TrainedCell

Hear = Callable[[str], None]


class StagesFailed(Exception):
    """Stages have failed; what they said was passed on."""


def default_jobs(params: Params) -> int:
    """Return how many cells this machine runs at a time: one, where models are not tiny ones."""
    tiny = all(isinstance(entry.model, TinyModel) for entry in params.base.values())
    cells = [cell for cell in params.cells.values() if isinstance(cell, TrainedCell)]
    if not tiny or any(cell.train.backend != "local" for cell in cells):
        return 1
    return max(1, len(os.sched_getaffinity(0)) // params.study.threads)


def reproduce(root: Path, params: Params, jobs: int, say: Hear) -> None:
    """Run what is not up to date: data and base models, then the cells, then the report.

    Cells go on when others fail. Stages wait for each other where DVC rewrites ``dvc.lock``.

    Args:
        root: The checkout, whose ``params.yaml`` has the study.
        params: The study.
        jobs: Cells at a time.
        say: Receives the output, line by line.

    Raises:
        StagesFailed: If some do; names the cells.
    """
    if not changed_stages(root):
        say(f"study {params.study.name} is up to date: nothing to run")
        return
    with Commands(root) as commands:
        shared = ["audit", *(f"base@{key}" for key in params.base)]
        if commands.run(dvc_command("repro", *shared), say):
            raise StagesFailed("data and base models cannot be made; the cause is printed above")
        failed = _cells(commands, params, jobs, say)
        if failed:
            raise StagesFailed(
                f"{len(failed)} of {len(params.cells)} cells failed: {', '.join(failed)}; the "
                "causes are printed above. Run it again to do what is missing"
            )
        if commands.run(dvc_command("repro"), say):
            raise StagesFailed("the report cannot be made; the cause is printed above")


def _cells(commands: Commands, params: Params, jobs: int, say: Hear) -> list[str]:
    """Run all cells; return those that failed.

    Those that train come first, as they take longest; those that ask the model of another cell come
    last, and fail with it.
    """

    def run(key: str) -> bool:
        stages = [f"{stage}@{key}" for stage in CELL_STAGES]
        command = dvc_command("--wait-for-lock", "repro", "--single-item", *stages)
        return commands.run(command, lambda line: say(f"{key} | {line}") if line else None) == 0

    own = {key: cell for key, cell in params.cells.items() if not isinstance(cell, AskedCell)}
    asked = {key: cell for key, cell in params.cells.items() if isinstance(cell, AskedCell)}
    order = sorted(own, key=lambda key: not isinstance(own[key], TrainedCell))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            failed = _failed(pool, order, run)
            there = [key for key, cell in asked.items() if cell.of not in failed]
            return failed + [key for key in asked if key not in there] + _failed(pool, there, run)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            commands.stop()
            raise


def _failed(pool: ThreadPoolExecutor, keys: Sequence[str], run: Callable[[str], bool]) -> list[str]:
    """Run cells and return those that failed."""
    done = {key: pool.submit(run, key) for key in keys}
    return [key for key, each in done.items() if not each.result()]
