"""The flow of a sweep: what cells share, then the cells under a limit, then the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from uuid import UUID

from prefect import flow, get_client, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.sync import concurrency
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.states import Cancelled, State

from flows.commands import Commands
from flows.sweeps.limits import limit_of, resource, taken
from flows.sweeps.progress import told
from flows.sweeps.record import CellState, SweepFolder
from flows.sweeps.table import description, table_rows
from flows.sweeps.work import CellFailed, Work
from pipeline.analysis.results import collect
from pipeline.config.params import AskedCell
from pipeline.tracking import prepare

_RETRIES, _RETRY_SECONDS = 2, 5
_SECONDS_BETWEEN_LOOKS = 2.0


def _passes(_task: object, _run: object, state: State) -> bool:
    """Return whether to run a cell again: if its cause may pass without anybody's help."""
    return isinstance(state.data, CellFailed) and state.data.cause.passing


@task(name="shared stages", cache_policy=NO_CACHE)
def make_shared(work: Work) -> None:
    """Make what cells share."""
    work.make_shared(_stages_of_log())


@task(
    name="cell",
    task_run_name="{key}",
    cache_policy=NO_CACHE,
    retries=_RETRIES,
    retry_delay_seconds=_RETRY_SECONDS,
    retry_condition_fn=_passes,
)
def run_cell(work: Work, key: str, limit: str, occupies: int) -> None:
    """Run a cell, while it holds what it takes of a limit."""
    log = get_run_logger()

    def tell(state: CellState) -> None:
        log.info("%s", told(state))

    held = concurrency(limit, occupies, strict=True, raise_on_lease_renewal_failure=False)
    with held:
        work.run_cell(key, tell)


@task(name="report", cache_policy=NO_CACHE)
def finish(work: Work) -> None:
    """Make the report, restore everything in the checkout, and leave the table of results."""
    work.finish(_stages_of_log())
    results = collect(work.params, work.folder.home)
    create_table_artifact(
        table_rows(results),
        key=f"sweep-{work.sweep.name}",
        description=description(results, work.folder.home),
    )


@flow(name="sweep", flow_run_name="sweep-{name}")
def run_sweep(
    name: str, checkout: str, slots: int, only: Sequence[str] = ()
) -> dict[str, str] | State:
    """Run what is left of a sweep and return the causes of failure by cell.

    Args:
        name: The sweep.
        checkout: Folder of the checkout.
        slots: How much of their resource the sweep's cells may take at a time.
        only: The cells to run; all that are left if empty.
    """
    log, folder = get_run_logger(), SweepFolder(Path(checkout), name)
    with Commands(folder.home) as commands, _stopped_from_outside(commands) as stopped:
        work = Work(folder, commands)
        prepare(folder.home)  # the tracking database exists before any stage needs it
        make_shared(work)
        left = work.left()
        chosen = [key for key in left if not only or key in only]
        log.info("%d of %d cells are left to do", len(left), len(work.params.cells))
        failed = _fan_out(work, chosen, slots)
        if stopped.is_set():
            return Cancelled(message="the cells were stopped; run the sweep again to go on")
        if not failed and len(chosen) == len(left):
            finish(work)
    return failed


def _fan_out(work: Work, keys: Sequence[str], slots: int) -> dict[str, str]:
    """Run cells under a limit, and return the causes of failure by cell."""
    limit = limit_of(resource(work.params), work.sweep.name, slots)
    runs: dict[str, PrefectFuture[None]] = {}
    try:
        for key in keys:
            cell, takes = work.params.cells[key], min(slots, taken(work.params, key))
            first = [runs[cell.of]] if isinstance(cell, AskedCell) and cell.of in runs else []
            runs[key] = run_cell.submit(work, key, limit, takes, wait_for=first)
        for each in runs.values():
            each.wait()
    except BaseException:
        work.commands.stop()
        raise
    failed = {}
    for key, each in runs.items():
        if not each.state.is_completed():
            failed[key] = work.folder.cell(key).cause or str(each.state.message)
    return failed


def _stages_of_log() -> Callable[[str], None]:
    """Return what tells the log of a run which stages DVC starts."""
    log = get_run_logger()
    return lambda line: log.info("%s", line) if line.startswith("Running stage") else None


@contextmanager
def _stopped_from_outside(commands: Commands) -> Iterator[Event]:
    """Stop commands when the flow run is cancelled on Prefect's server, and say so by an event."""
    stopped, over, run = Event(), Event(), UUID(flow_run.id)

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not over.wait(_SECONDS_BETWEEN_LOOKS):
                try:
                    state = client.read_flow_run(run).state
                except Exception:  # an outage, which hurts nobody but who would cancel
                    continue
                if state is not None and (state.is_cancelling() or state.is_cancelled()):
                    stopped.set()
                    commands.stop()
                    return

    thread = Thread(target=watch, name="cancellation", daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        over.set()
        thread.join()
