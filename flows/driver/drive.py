"""The order of a run: shared stages, then cells under a limit with retries, then the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from prefect import Task, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import ThreadPoolTaskRunner

from flows.driver.commands import Commands
from flows.driver.graph import runs_on_cores
from flows.driver.limits import Limit, held, limit_of, taken
from flows.driver.progress import SHORTCUT
from flows.driver.record import RunFolder
from flows.driver.results import leave_partial_report, publish
from flows.driver.work import RunFailed, Say, StageFailed, Work
from pipeline.config.params import before
from pipeline.ops.mirror.server import prepare

_RETRIES, _RETRY_SECONDS = 2, 5
_FEW = 4  # stages that are started for less than it takes to import what they are forked with
Future: TypeAlias = "PrefectFuture[State | None]"
Begin: TypeAlias = "Callable[..., Future]"


def _passes(_task: object, _run: object, state: State) -> bool:
    """Retry stages whose cause of failure may pass."""
    return isinstance(state.data, StageFailed) and state.data.cause.passing


@task(
    name="cell",
    task_run_name="{name}",
    cache_policy=NO_CACHE,
    retries=_RETRIES,
    retry_delay_seconds=_RETRY_SECONDS,
    retry_condition_fn=_passes,
)
def run_cell(
    name: str, run: Callable[[Say], None], commands: Commands, limit: Limit, needs: int
) -> State | None:
    """Run stages while they hold their share of a limit; return a failed state if they fail."""
    log = get_run_logger()
    with held(limit, needs, commands):
        if commands.stopped:
            return Cancelled(message="not begun when the run was stopped")
        alarms = list[str]()

        def hear(line: str) -> None:
            log.info("%s", line)
            alarms.extend(line for _ in SHORTCUT.findall(line))

        try:
            run(hear)
        except StageFailed as failure:  # returned, as Prefect prints a traceback of what is raised
            return Failed(message=str(failure), data=failure)
    return Completed(name="Alarm", message=alarms[0]) if alarms else None


make_data, make_base, make_report = (
    run_cell.with_options(name=name) for name in ("data", "base model", "report")
)


def drive(
    folder: RunFolder,
    commands: Commands,
    slots: int | None = None,
    jobs: int | None = None,
) -> bool:
    """Run what is left of a study; return whether all of it is done.

    Args:
        slots: Maximum use of the cells' resource; all there is if None.
        jobs: Maximum number of concurrent cells; as many as can be placed, if None.

    Raises:
        RunFailed: If cells, shared stages, or the report fail.
        UserError: If MLflow does not answer, or the limit that runs share is too small.
    """
    prepare(folder.home)  # loudly, once; stages go on in an outage
    work = Work(folder, commands)
    limit = limit_of(work.params, folder.name, slots, jobs)
    with ThreadPoolTaskRunner(max_workers=jobs or limit.together) as runner:

        def begin(
            kind: Task[..., State | None],
            name: str,
            run: Callable[[Say], None],
            needs: int = 0,
            after: Sequence[Future] = (),
        ) -> Future:
            given = {"name": name, "run": run, "commands": commands}
            given |= {"limit": limit, "needs": needs}
            return runner.submit(kind, given, wait_for=after)

        try:
            return _drive(work, begin)
        except BaseException:
            commands.stop()
            raise


def _drive(work: Work, begin: Begin) -> bool:
    params, graph, folder, changed = work.params, work.graph, work.folder, work.changed()
    if len(changed) > _FEW and runs_on_cores(params):
        work.commands.fork_stages(folder.tree)
    for group in graph.shared:
        stages = sorted(stage for stage in changed if stage.partition("@")[0] == group)
        changed = _make(work, changed, stages, partial(begin, make_data))
    bases = [stage for stage in graph.of_models(params) if stage in changed]
    takes = params.study.threads if runs_on_cores(params) else 0  # else they are fetched
    changed = _make(work, changed, bases, partial(begin, make_base, needs=takes))
    left = graph.cells_left(params, changed)
    folder.note_done(key for key in params.cells if key not in left)
    log = get_run_logger()
    if not changed:
        log.info("study %s is up to date: nothing to run", params.study.name)
        publish(folder)
        return True
    log.info("%d of %d cells are left to do", len(left), len(params.cells))
    failed = _run_cells(work, left, begin)
    if work.hopeless.why:
        raise RunFailed(f"{work.hopeless.why}. Mend it, then go on with: {folder.again}")
    if failed:
        leave_partial_report(folder)
        count = f"{len(failed)} of {len(params.cells)} cells failed"
        raise RunFailed(f"{count}; run them again with: {folder.again}", failed)
    if work.commands.stopped:
        return False
    if left or not changed.isdisjoint(graph.last):
        _require(work, [begin(make_report, "report", partial(work.run, "report", graph.last))])
    publish(folder)
    return True


def _make(work: Work, changed: set[str], stages: Sequence[str], begin: Begin) -> set[str]:
    if not stages:
        return changed
    _require(work, [begin(each, partial(work.run, each, [each])) for each in stages])
    return work.changed()


def _require(work: Work, runs: Sequence[Future]) -> None:
    """Wait for shared stages; RunFailed if any fails."""
    for run in runs:
        run.wait()
    causes = [str(run.state.message) for run in runs if not run.state.is_completed()]
    if causes:
        logs = work.folder.path / "logs"
        raise RunFailed(f"{causes[0]}. All output is in {logs}; run it again to go on")


def _run_cells(work: Work, keys: Sequence[str], begin: Begin) -> dict[str, str]:
    runs: dict[str, Future] = {}
    for key in keys:
        first, takes = before(work.params.cells[key]), taken(work.params, key)
        after = [runs[first]] if first in runs else []
        runs[key] = begin(run_cell, key, partial(work.run_cell, key), takes, after)
    for run in runs.values():
        run.wait()
    if work.commands.stopped:
        return {}
    failed = {key: run.state for key, run in runs.items() if not run.state.is_completed()}
    return {key: _cause(work, key, ended) for key, ended in failed.items()}


def _cause(work: Work, key: str, ended: State) -> str:
    """Why a cell is not done, recorded unless the cell did so."""
    state, first = work.folder.cell(key), before(work.params.cells[key])
    cause = ended.message or str(ended.name)
    if state.cause and state.cause in cause:
        return state.cause
    if first is not None and ended.name == "NotReady":
        cause = f"cell {first}, whose weights it takes, failed"
    work.folder.note(key, state.model_copy(update={"state": "failed", "cause": cause}))
    return cause
