"""Running the flow of a sweep with as many cells side by side as its limit allows."""

from __future__ import annotations

import os
from collections.abc import Sequence

from prefect.task_runners import ThreadPoolTaskRunner

from flows.sweeps.flow import run_sweep
from flows.sweeps.limits import CPU, resource, side_by_side
from flows.sweeps.places import absolute_places
from flows.sweeps.record import SweepFolder
from flows.sweeps.stopping import Interrupted


def launch(
    folder: SweepFolder, concurrency: int | None, only: Sequence[str] = ()
) -> dict[str, str]:
    """Run what is left of a sweep that this process owns.

    Args:
        folder: The sweep's.
        concurrency: How much of their resource its cells may take at a time; all cores, or one
            accelerator, if None.
        only: The cells to run; all that are left if empty.

    Returns:
        The causes of failure by cell.

    Raises:
        CellFailed: If what cells share, or the report, fails.
        CancelledRun: If the run is cancelled on Prefect's server.
        KeyboardInterrupt: If this process is asked to stop; the run is cancelled then too.
    """
    os.environ.update(absolute_places(os.environ, folder.home))
    params = folder.params()
    cores = max(len(os.sched_getaffinity(0)), params.study.threads)
    slots = concurrency or (cores if resource(params) == CPU else 1)
    runner = ThreadPoolTaskRunner(max_workers=side_by_side(params, slots))
    flow = run_sweep.with_options(task_runner=runner)
    try:
        failed: dict[str, str] = flow(
            name=folder.name, checkout=str(folder.home), slots=slots, only=list(only)
        )
    except Interrupted as interrupted:
        raise interrupted.by from None
    return failed
