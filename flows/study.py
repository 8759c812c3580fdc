"""One study from its sources to its report: the same DVC stages, one Prefect task each."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled, State

from flows.commands import Commands
from flows.commits import check_commit
from flows.order import changed_stages, stages_left
from flows.parameters import StudyName
from flows.stages import run_stage
from flows.sweeps.stopping import SweepInterrupted, stopped_from_outside
from pipeline.base.processes import raise_on_sigterm
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import find_root, use_study
from pipeline.ops.mirror.server import prepare


def _run_name() -> str:
    """Return the name of a run: that of the study, which params.yaml has where none is given."""
    given = flow_run.parameters
    study = given.get("study")
    if study is None:
        checkout = given.get("checkout")
        root = find_root(Path(checkout) if checkout else None)
        study = read_params(root / "params.yaml").study.name
    return f"study-{study}"


@flow(name="study", flow_run_name=_run_name, log_prints=True)
def run_study(study: StudyName | None = None, checkout: str | None = None) -> list[str] | State:
    """Run a study and return the stages that were started.

    It is cancelled when somebody cancels it on Prefect's server, or interrupts this process: then
    what runs is stopped, and another run goes on where it was.

    Args:
        study: A file in ``studies/``; the present ``params.yaml`` if absent.
        checkout: Folder of the checkout; the working directory if absent.
    """
    if deployment.id is None:
        raise_on_sigterm()  # in place of Prefect's handler, after which the run has crashed
    root = find_root(Path(checkout) if checkout else None)
    asked: SweepInterrupted | None = None
    started: list[str] = []
    with Commands(root) as commands, stopped_from_outside(commands) as stopped:
        try:
            started = _run_left(root, study, commands)
        except KeyboardInterrupt as interrupt:
            asked = SweepInterrupted(interrupt)
            commands.stop()
    if asked or stopped.is_set():  # whoever called the flow has what is in its state raised
        return Cancelled(message="what ran was stopped; run it again to go on", data=asked)
    return started


def _run_left(root: Path, study: str | None, commands: Commands) -> list[str]:
    """Run the stages that have something to do, until commands are stopped, and return them."""
    check_commit(root, deployment.version, get_run_logger())
    if study is not None:
        use_study(root, study)
    params = read_params(root / "params.yaml")
    left = stages_left(params, changed_stages(root))
    if not left:
        get_run_logger().info("study %s is up to date: nothing to run", params.study.name)
        return []
    prepare(root)  # the tracking database exists before any stage needs it
    for stage in left:
        run_stage(stage, commands)
        if commands.stopped:
            return []
    _publish(params, root)
    return left


def _publish(params: Params, root: Path) -> None:
    """Put the table of results on Prefect's pages."""
    # Here, since all who only want to know the flow's parameters import this module.
    from pipeline.analysis.results import collect
    from pipeline.analysis.table import markdown

    create_markdown_artifact(
        markdown(collect(params, root)),
        key=f"results-{params.study.name}",
        description=f"{params.study.title}: accuracy in %",
    )
