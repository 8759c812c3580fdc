"""One study from its sources to its report: the same DVC stages, one Prefect task each."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run

from flows.order import changed_stages, stage_names
from flows.parameters import StudyName
from flows.stages import run_stage
from pipeline.checkout import find_root, use_study
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.tracking_server import prepare


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
def run_study(study: StudyName | None = None, checkout: str | None = None) -> list[str]:
    """Run a study and return the stages that were started.

    Args:
        study: A file in ``studies/``; the present ``params.yaml`` if absent.
        checkout: Folder of the checkout; the working directory if absent.
    """
    log = get_run_logger()
    root = find_root(Path(checkout) if checkout else None)
    if study is not None:
        use_study(root, study)
    params = read_params(root / "params.yaml")
    if not changed_stages(root):
        log.info("study %s is up to date: nothing to run", params.study.name)
        return []
    prepare(root)  # the tracking database exists before any stage needs it
    started = stage_names(params)
    for stage in started:
        run_stage(stage, root)
    _publish(params, root)
    return started


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
