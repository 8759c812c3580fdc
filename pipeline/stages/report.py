"""Stage ``report``: tables, figures and one HTML page from the study's results."""

from __future__ import annotations

from pipeline.analysis.report import write_report
from pipeline.analysis.results import collect
from pipeline.files import remove_leftovers, replacing
from pipeline.stages.common import Stage, run
from pipeline.tracking import study_tracker


def main(stage: Stage) -> None:
    """Write the report and keep a copy in the study's MLflow run."""
    results = collect(stage.params, stage.root)
    target = stage.root / "reports" / stage.study
    remove_leftovers(target.parent)
    with replacing(target) as temporary:
        write_report(results, temporary)
    tracker = study_tracker(stage.params, stage.root)
    tracker.artifact(target)
    tracker.finish()
    print(f"report: {(target / 'index.html').relative_to(stage.root)}")


if __name__ == "__main__":
    run("report", main)
