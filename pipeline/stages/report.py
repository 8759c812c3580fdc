"""Stage ``report``: tables, figures and one HTML page from the study's results."""

from __future__ import annotations

import time

from pipeline.analysis.dvc_files import accuracies
from pipeline.analysis.report import write_report
from pipeline.analysis.results import collect
from pipeline.analysis.samples import read_recorded
from pipeline.files import replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.mirror import complete
from pipeline.stages.prompts import frame_of
from pipeline.tracking import study_run


def main(stage: Stage) -> None:
    """Write the report and keep a copy in the study's MLflow run."""
    results = collect(stage.params, stage.root)
    styles = {cell.evaluate.prompt for cell in stage.params.cells.values()}
    frames = {str(style): frame_of(stage, style) for style in styles}
    recorded = read_recorded(results, stage.root, frames)
    target = stage.root / "reports" / stage.study
    with replacing(target) as temporary:
        write_report(results, recorded, temporary)
    with study_run(stage.params, stage.root) as tracker:
        complete(stage.params, stage.root, study=tracker)
        tracker.step("accuracy", 0, accuracies(results), time.time())
        tracker.artifact(target)
    print(f"report: {(target / 'index.html').relative_to(stage.root)}")


if __name__ == "__main__":
    run("report", main)
