"""The flow of a sweep: what cells share, then the cells under a limit, then the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.states import Cancelled, Failed, State

from flows.commands import Commands
from flows.order import base_stages, runs_on_cores
from flows.sweeps.limits import Limit, held, taken
from flows.sweeps.outcome import run_page, track_quietly
from flows.sweeps.partial import leave_partial_report
from flows.sweeps.progress import told
from flows.sweeps.push import NotPushed, push_owed, pushes
from flows.sweeps.record import CellState, SweepFolder
from flows.sweeps.stopping import SweepInterrupted, stopped_from_outside
from flows.sweeps.table import description, table_rows
from flows.sweeps.work import CellFailed, Work
from pipeline.analysis.results import collect
from pipeline.base.processes import raise_on_sigterm
from pipeline.config.params import AskedCell

_RETRIES, _RETRY_SECONDS = 2, 5


def _passes(_task: object, _run: object, state: State) -> bool:
    """Return whether to run a cell again: if its cause may pass without anybody's help."""
    return isinstance(state.data, CellFailed) and state.data.cause.passing


@task(name="data", cache_policy=NO_CACHE)
def make_data(work: Work) -> None:
    """Make the data that cells share."""
    work.make_data(_stages_of_log())


@task(name="base model", task_run_name="{stage}", cache_policy=NO_CACHE)
def make_base(work: Work, stage: str, limit: Limit, needs: int) -> None:
    """Make a base model that cells share, while it holds what it takes of a limit."""
    with held(limit, needs, work.commands):
        work.make_base(stage, _stages_of_log())


@task(
    name="cell",
    task_run_name="{key}",
    cache_policy=NO_CACHE,
    retries=_RETRIES,
    retry_delay_seconds=_RETRY_SECONDS,
    retry_condition_fn=_passes,
)
def run_cell(work: Work, key: str, limit: Limit, needs: int) -> State | None:
    """Run a cell, while it holds what it takes of a limit; return a failed state if it fails."""
    log = get_run_logger()

    def tell(state: CellState) -> None:
        log.info("%s", told(state))

    with held(limit, needs, work.commands):
        if work.commands.stopped:
            return Cancelled(message="it had not begun when the sweep was stopped")
        try:
            work.run_cell(key, tell)
        except CellFailed as failure:  # returned, as Prefect prints a traceback of what is raised
            return Failed(message=str(failure), data=failure)
    return None


@task(name="report", cache_policy=NO_CACHE)
def finish(work: Work, owed: Sequence[str]) -> None:
    """Make the report, restore everything in the checkout, and leave the table of results."""
    work.finish(_stages_of_log(), owed)
    home = work.folder.home
    results, report = collect(work.params, home), home / "reports" / work.params.study.name
    create_table_artifact(
        table_rows(results),
        key=f"sweep-{work.sweep.name}",
        description=description(results, report / "index.html", run_page(work.folder)),
    )


@task(name="push", cache_policy=NO_CACHE)
def push(work: Work) -> None:
    """Bring all results to the remote of the checkout, if it has one."""
    commands = " && ".join(work.folder.sweep().unpushed) or "nothing, as no remote is set up"
    get_run_logger().info("to be pushed with: %s", commands)
    push_owed(work.folder, work.push)


@flow(name="sweep", flow_run_name="sweep-{name}")
def run_sweep(
    name: str, checkout: str, limit: Limit, only: Sequence[str] = (), pushing: bool = True
) -> dict[str, str] | State:
    """Run what is left of a sweep and return the causes of failure by cell.

    Args:
        name: The sweep.
        checkout: Folder of the checkout.
        limit: What says how much of their resource cells may take at a time.
        only: The cells to run; all that are left if empty.
        pushing: Whether to bring results to the remote of the checkout, once all are there.
    """
    if flow_run.parent_flow_run_id is None:
        raise_on_sigterm()  # in place of Prefect's handler, after which the run has crashed
    folder = SweepFolder(Path(checkout), name)
    with Commands(folder.home) as commands, stopped_from_outside(commands) as stopped:
        asked: SweepInterrupted | None = None
        try:
            failed = _run_left(Work(folder, commands), limit, only, pushing)
        except KeyboardInterrupt as interrupt:
            asked = SweepInterrupted(interrupt)
            commands.stop()
        except (CellFailed, NotPushed):
            if not stopped.is_set():
                track_quietly(folder)
                raise
        track_quietly(folder)
        if asked or stopped.is_set():  # whoever called the flow has what is in its state raised
            message = "what ran was stopped; run the sweep again to go on"
            return Cancelled(message=message, data=asked)
    if failed:
        leave_partial_report(folder)
    return failed


def _run_left(work: Work, limit: Limit, only: Sequence[str], pushing: bool) -> dict[str, str]:
    """Run what is left, the report too if nothing is then, and return the causes of failure."""
    make_data(work)
    _make_bases(work, limit)
    left = work.left()
    chosen = [key for key in left if not only or key in only]
    log = get_run_logger()
    log.info("%d of %d cells are left to do", len(left), len(work.params.cells))
    failed = _fan_out(work, chosen, limit)
    if not failed and len(chosen) == len(left) and not work.commands.stopped:
        # Noted with the sweep's end: a push that is cut off is not forgotten.
        finish(work, pushes(work.folder.home) if pushing else [])
        if pushing and not work.commands.stopped:
            push(work)
    return failed


def _make_bases(work: Work, limit: Limit) -> None:
    """Make base models: where they are trained on cores, as many at once as cells."""
    stages, takes = base_stages(work.params), work.params.study.threads
    if not runs_on_cores(work.params):  # they are fetched, and hold no accelerator
        for stage in stages:
            make_base(work, stage, limit, 0)
        return
    for run in [make_base.submit(work, stage, limit, takes) for stage in stages]:
        run.result()


def _fan_out(work: Work, keys: Sequence[str], limit: Limit) -> dict[str, str]:
    """Run cells under a limit, and return the causes of failure by cell."""
    runs: dict[str, PrefectFuture[State | None]] = {}
    try:
        for key in keys:
            cell, takes = work.params.cells[key], taken(work.params, key)
            first = [runs[cell.of]] if isinstance(cell, AskedCell) and cell.of in runs else []
            runs[key] = run_cell.submit(work, key, limit, takes, wait_for=first)
        for each in runs.values():
            each.wait()
    except BaseException:
        work.commands.stop()
        raise
    if work.commands.stopped:
        return {}
    failed = {key: run.state for key, run in runs.items() if not run.state.is_completed()}
    return {key: _cause(work, key, ended) for key, ended in failed.items()}


def _cause(work: Work, key: str, ended: State) -> str:
    """Return why a cell is not done, and note it where the cell could not."""
    state, cell = work.folder.cell(key), work.params.cells[key]
    cause = ended.message or str(ended.name)
    if state.cause and state.cause in cause:
        return state.cause
    if isinstance(cell, AskedCell) and ended.name == "NotReady":
        cause = f"cell {cell.of}, whose model it asks, failed"
    work.folder.note(key, state.model_copy(update={"state": "failed", "cause": cause}))
    return cause


def _stages_of_log() -> Callable[[str], None]:
    """Return what tells the log of a run which stages DVC starts."""
    log = get_run_logger()
    return lambda line: log.info("%s", line) if line.startswith("Running stage") else None
