"""Running the flow of a sweep with as many cells side by side as its limit allows."""

from __future__ import annotations

import os
from collections.abc import Sequence

from prefect.settings import PREFECT_API_URL
from prefect.task_runners import ThreadPoolTaskRunner

from flows.sweeps.flow import run_sweep
from flows.sweeps.limits import (
    CPU,
    most_taken,
    own_limit,
    resource,
    shared_limit,
    side_by_side,
)
from flows.sweeps.places import absolute_places
from flows.sweeps.record import SweepFolder
from flows.sweeps.stopping import SweepInterrupted
from pipeline.ops.mirror.server import prepare


def launch(
    folder: SweepFolder,
    concurrency: int | None,
    only: Sequence[str] = (),
    *,
    pushing: bool = True,
) -> dict[str, str]:
    """Run what is left of a sweep that this process owns.

    Args:
        folder: The sweep's.
        concurrency: How much of their resource its cells may take at a time; all cores, or one
            accelerator, if None.
        only: The cells to run; all that are left if empty.
        pushing: Whether to bring results to the remote of the checkout, once all are there.

    Returns:
        The causes of failure by cell.

    Raises:
        CellFailed: If what cells share, or the report, fails.
        NotPushed: If all is done, but a remote did not take it.
        UserError: If MLflow does not answer, or the limit that sweeps share is too small.
        CancelledRun: If the run is cancelled on Prefect's server.
        KeyboardInterrupt: If this process is asked to stop; the run is cancelled then too.
    """
    os.environ.update(absolute_places(os.environ, folder.home))
    prepare(folder.home)  # loudly, once; stages go on in an outage
    params = folder.params()
    cores = max(len(os.sched_getaffinity(0)), params.study.threads)
    name = resource(params)
    slots = concurrency or (cores if name == CPU else 1)
    if PREFECT_API_URL.value():
        limit = shared_limit(name, slots, max(concurrency or 0, most_taken(params)))
    else:
        limit = own_limit(name, folder.name, slots)
    runner = ThreadPoolTaskRunner(max_workers=side_by_side(params, slots))
    flow = run_sweep.with_options(task_runner=runner)
    try:
        failed: dict[str, str] = flow(
            name=folder.name,
            checkout=str(folder.home),
            limit=limit,
            only=list(only),
            pushing=pushing,
        )
    except SweepInterrupted as interrupted:
        raise interrupted.by from None
    return failed
