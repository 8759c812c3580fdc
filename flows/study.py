"""One study from its sources to its report, in the present checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from prefect import flow, get_run_logger
from prefect.runtime import deployment, flow_run
from prefect.states import Failed, State
from pydantic import Field

from flows.commits import check_commit
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import find_root, use_study


def _root(checkout: str | None) -> Path:
    return find_root(Path(checkout) if checkout else None)


def _run_name() -> str:
    given = flow_run.parameters
    study = given.get("study")
    if study is None:
        study = read_params(_root(given.get("checkout")) / "params.yaml").study.name
    return f"study-{study}"


@flow(name="study", flow_run_name=_run_name, log_prints=True)
def run_study(
    study: str | None = None,
    checkout: str | None = None,
    jobs: Annotated[int | None, Field(ge=1)] = None,
) -> bool | State:
    """Run what is left of a study, and return whether all of it is done.

    Its cells run side by side and go on when others fail; then the run fails in the end. It is
    cancelled when somebody cancels it on Prefect's server, or interrupts this process: then what
    runs is stopped, and another run goes on where it was.

    Args:
        study: A file in `studies/`; the present `params.yaml` if absent.
        checkout: Folder of the checkout; the working directory if absent.
        jobs: How many cells may run at a time; as many as have room on the machine's cores, or on
            the accelerators of the cluster or machine, if absent.
    """
    # Here, since all who only want to know the flow's parameters import this module.
    from flows.driver.drive import drive
    from flows.driver.record import RunFolder, checkout_owner
    from flows.driver.stopping import until_stopped
    from flows.driver.work import RunFailed
    from pipeline.base.ownership import owned
    from pipeline.formats.files import remove

    root = _root(checkout)
    check_commit(root, deployment.version, get_run_logger())
    with owned(checkout_owner(root), patience=0.0):
        if study is not None:
            use_study(root, study)
        params = read_params(root / "params.yaml")
        folder = RunFolder.here(root, params.study.name)
        remove(folder.path)
        try:
            return until_stopped(lambda commands: drive(folder, commands, jobs=jobs))
        except RunFailed as failure:  # returned, as Prefect prints a traceback of what is raised
            return Failed(message=str(failure), data=failure)
