"""A sweep as a deployment: begun, or gone on with, by a worker of Prefect."""

from __future__ import annotations

from typing import Annotated

from prefect import flow, get_run_logger
from prefect.exceptions import CancelledRun
from prefect.runtime import deployment
from prefect.states import Cancelled, Failed, State
from pydantic import Field

from flows.commits import check_commit
from flows.parameters import StudyName
from flows.seen import looked_after
from pipeline.base.ownership import owned
from pipeline.ops.driver.checkout import find_root


@flow(name="scheduled sweep", flow_run_name="sweep-of-{study}")
def sweep_study(
    study: StudyName, concurrency: Annotated[int | None, Field(ge=1)] = None
) -> dict[str, str] | State:
    """Run what is left of the sweep of a study; the run fails if cells do.

    Args:
        study: A file in ``studies/``; the sweep has its name.
        concurrency: Cores, or accelerators where models are not tiny ones, that cells may take at
            a time; all cores, or one accelerator, if absent.
    """
    # Here, since all who only want to know the flow's parameters import this module.
    from flows.sweeps.launch import launch
    from flows.sweeps.push import push_rest
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.start import ready

    check_commit(find_root(), deployment.version, get_run_logger())
    folder = sweep_folder(find_root(), study)
    with owned(folder.path, patience=0.0):
        if not ready(folder, study):
            get_run_logger().info("study %s is up to date: nothing to run", study)
            if folder.exists() and (owed := folder.sweep().unpushed):
                get_run_logger().info("what was not pushed is pushed now: %s", " && ".join(owed))
                push_rest(folder)
            return {}
        try:
            with looked_after():  # the sweep is a run of its own, and begins with no tag
                failed = launch(folder, concurrency)
        except CancelledRun:
            return Cancelled(message="what ran was stopped; run the sweep again to go on")
    if failed:
        causes = "; ".join(f"{key}: {cause}" for key, cause in failed.items())
        return Failed(message=f"{len(failed)} cells failed: {causes}")
    return failed
