"""Stage ``report``: tables, figures and one HTML page from the study's results."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from pipeline.analysis.dvc_files import accuracies
from pipeline.analysis.report import write_report
from pipeline.analysis.results import Results, collect
from pipeline.analysis.samples import read_recorded
from pipeline.errors import UserError
from pipeline.files import replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.mirror import complete
from pipeline.stages.prompts import frame_of
from pipeline.tracking import study_run
from pipeline.tracking_server import may_be_told_later

log = logging.getLogger(__name__)


def main(stage: Stage) -> None:
    """Write the report and keep a copy in the study's MLflow run."""
    results = collect(stage.params, stage.root)
    target = stage.root / "reports" / stage.study
    write(stage, results, target)
    try:
        with study_run(stage.params, stage.root) as tracker:
            complete(stage.params, stage.root, study=tracker)
            tracker.step("accuracy", 0, accuracies(results), time.time())
            tracker.artifact(target)
    except UserError as error:
        if not may_be_told_later():
            raise
        log.warning("%s; the files hold everything, send them later with: tomrl sync", error)
    print(f"report: {(target / 'index.html').relative_to(stage.root)}")


def write(stage: Stage, results: Results, target: Path) -> None:
    """Write the report of results into a folder, all of it or nothing."""
    styles = {cell.evaluate.prompt for cell in stage.params.cells.values()}
    frames = {str(style): frame_of(stage, style) for style in styles}
    recorded = read_recorded(results, stage.root, frames)
    with replacing(target) as temporary:
        write_report(results, recorded, temporary)


if __name__ == "__main__":
    run("report", main)
