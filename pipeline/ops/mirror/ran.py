"""The copy of a report's page that says what differs from run to run."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.runs import StageRun, with_runs
from pipeline.config.params import Params
from pipeline.formats.files import write_text
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.send import STAGES


def stages_that_ran(params: Params, root: Path) -> list[StageRun]:
    """The stages of a study's cells of which the logs say that they ended well."""
    done = (Done(params, key, stage, root) for key in params.cells for stage in STAGES)
    return [
        StageRun(
            each.key, each.stage, each.ended.began, each.ended.seconds, each.ended.circumstances
        )
        for each in done
        if each.ended is not None and each.ended.status == "FINISHED"
    ]


def write_with_runs(params: Params, root: Path, page: Path, target: Path) -> None:
    """Write a copy of a report's page with what the logs of a checkout say of the runs."""
    ran = stages_that_ran(params, root)
    write_text(target, with_runs(page.read_text(encoding="utf-8"), ran))


def copied_page(root: Path, study: str) -> Path:
    """The place of the copy: as deep as the page itself, so that its links lead on."""
    return root / "logs" / study / "report.html"
