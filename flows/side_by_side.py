"""Running a study with DVC, what does not depend on each other side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from flows.commands import Commands
from flows.order import DATA_STAGE, base_stages, changed_stages, runs_on_cores, stages_of
from pipeline.config.params import AskedCell, Params, TrainedCell
from pipeline.ops.driver.checkout import dvc_command

Hear = Callable[[str], None]


class StagesFailed(Exception):
    """Stages have failed; what they said was passed on."""


def default_jobs(params: Params) -> int:
    """Return how many cells this machine runs at a time: one, where models are not tiny ones."""
    if not runs_on_cores(params):
        return 1
    return max(1, len(os.sched_getaffinity(0)) // params.study.threads)


def reproduce(root: Path, params: Params, jobs: int, say: Hear) -> None:
    """Run what is not up to date: data and base models, then the cells, then the report.

    Cells go on when others fail. Stages wait for each other where DVC rewrites ``dvc.lock``.

    Args:
        root: The checkout, whose ``params.yaml`` has the study.
        params: The study.
        jobs: Base models, and then cells, at a time.
        say: Receives the output, line by line.

    Raises:
        StagesFailed: If some do; names the cells.
    """
    if not changed_stages(root):
        say(f"study {params.study.name} is up to date: nothing to run")
        return
    with Commands(root) as commands:
        if commands.run(dvc_command("repro", DATA_STAGE), say):
            raise StagesFailed("the data cannot be made; the cause is printed above")
        if _bases(commands, params, jobs, say):
            raise StagesFailed("not all base models can be made; the cause is printed above")
        failed = _cells(commands, params, jobs, say)
        if failed:
            raise StagesFailed(
                f"{len(failed)} of {len(params.cells)} cells failed: {', '.join(failed)}; the "
                "causes are printed above. Run it again to do what is missing; see the others "
                "with: tomrl report --partial"
            )
        if commands.run(dvc_command("repro"), say):
            raise StagesFailed("the report cannot be made; the cause is printed above")


def _bases(commands: Commands, params: Params, jobs: int, say: Hear) -> list[str]:
    """Make all base models; return the stages that failed."""
    with _pool(commands, jobs) as pool:
        return _failed(
            pool, base_stages(params), lambda stage: _runs(commands, [stage], f"{stage} | ", say)
        )


def _cells(commands: Commands, params: Params, jobs: int, say: Hear) -> list[str]:
    """Run all cells; return those that failed.

    Those that train come first, as they take longest; those that ask the model of another cell come
    last, and fail with it.
    """

    def run(key: str) -> bool:
        return _runs(commands, stages_of(key), f"{key} | ", say)

    own = {key: cell for key, cell in params.cells.items() if not isinstance(cell, AskedCell)}
    asked = {key: cell for key, cell in params.cells.items() if isinstance(cell, AskedCell)}
    order = sorted(own, key=lambda key: not isinstance(own[key], TrainedCell))
    with _pool(commands, jobs) as pool:
        failed = _failed(pool, order, run)
        there = [key for key, cell in asked.items() if cell.of not in failed]
        return failed + [key for key in asked if key not in there] + _failed(pool, there, run)


@contextmanager
def _pool(commands: Commands, jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Give threads that wait for commands; if the block is left early, nothing more is begun."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            commands.stop()
            raise


def _runs(commands: Commands, stages: Sequence[str], prefix: str, say: Hear) -> bool:
    """Run stages, beside others, and return whether they have run."""
    # What they depend on is there, and DVC would refuse two of them a lock on it.
    command = dvc_command("--wait-for-lock", "repro", "--single-item", *stages)
    return commands.run(command, lambda line: say(f"{prefix}{line}") if line else None) == 0


def _failed(pool: ThreadPoolExecutor, keys: Sequence[str], run: Callable[[str], bool]) -> list[str]:
    """Run cells or stages and return those that failed."""
    done = {key: pool.submit(run, key) for key in keys}
    return [key for key, each in done.items() if not each.result()]
