"""A sweep as a deployment: begun, or gone on with, by a worker of Prefect."""

from __future__ import annotations

from prefect import flow, get_run_logger
from prefect.states import Failed, State

from flows.parameters import StudyName
from pipeline.checkout import find_root
from pipeline.ownership import owned


@flow(name="scheduled sweep", flow_run_name="sweep-of-{study}")
def sweep_study(study: StudyName, concurrency: int | None = None) -> dict[str, str] | State:
    """Run what is left of the sweep of a study; the run fails if cells do.

    Args:
        study: A file in ``studies/``; the sweep has its name.
        concurrency: Cores, or accelerators where models are not tiny ones, that cells may take at
            a time; all cores, or one accelerator, if absent.
    """
    # Here, since all who only want to know the flow's parameters import this module.
    from flows.sweeps.launch import launch
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.start import ready

    folder = sweep_folder(find_root(), study)
    with owned(folder.path, patience=0.0):
        if not ready(folder, study):
            get_run_logger().info("study %s is up to date: nothing to run", study)
            return {}
        failed = launch(folder, concurrency)
    if failed:
        causes = "; ".join(f"{key}: {cause}" for key, cause in failed.items())
        return Failed(message=f"{len(failed)} cells failed: {causes}")
    return failed
