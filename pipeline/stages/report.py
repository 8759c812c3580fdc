"""Stage ``report``: tables, figures and one HTML page from the study's results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from pipeline.analysis.collect import collect
from pipeline.analysis.dvc_files import write_small_files
from pipeline.analysis.report import write_report
from pipeline.analysis.results import Results
from pipeline.analysis.samples import read_recorded
from pipeline.analysis.summary import StudySummary
from pipeline.base.plugins import KEEPER
from pipeline.formats.files import replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import everything
from pipeline.stages.prompts import frame_of


def main(stage: Stage) -> None:
    """Write the report, and have it kept where people compare studies."""
    results = collect(stage.params, stage.root)
    target = stage.root / "reports" / stage.study
    summary = write(stage, results, target)
    with replacing(stage.root / "results" / stage.study) as small:
        write_small_files(results, summary, target / "report.md", small)
    keep = cast(Callable[[Stage], None], KEEPER.load())
    keep(stage)
    print(f"report: {(target / 'index.html').relative_to(stage.root)}")


def write(stage: Stage, results: Results, target: Path) -> StudySummary:
    """Write the report of results into a folder, all of it or nothing."""
    styles = {cell.evaluate.prompt for cell in stage.params.cells.values()}
    frames = {str(style): frame_of(stage, style) for style in styles}
    recorded = read_recorded(results, stage.root, frames)
    with replacing(target) as temporary:
        return write_report(results, recorded, temporary)


if __name__ == "__main__":
    run("report", main, everything)
