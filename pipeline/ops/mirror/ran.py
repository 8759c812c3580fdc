"""The copy of a report's page that says what differs from run to run."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.analysis.packed import PARTS
from pipeline.analysis.page import body
from pipeline.analysis.run_links import RunsAt
from pipeline.analysis.runs import FinishedStage, with_runs
from pipeline.config.params import Params
from pipeline.formats.files import write_text
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.send import STAGES


def stages_that_ran(params: Params, root: Path) -> list[FinishedStage]:
    """The stages of a study's cells of which the logs say that they ended well."""
    done = (Done(params, key, stage, root) for key in params.cells for stage in STAGES)
    return [
        FinishedStage(
            each.key, each.stage, each.ended.began, each.ended.seconds, each.ended.circumstances
        )
        for each in done
        if each.ended is not None and each.ended.status == "FINISHED"
    ]


def write_with_runs(
    params: Params, root: Path, page: Path, target: Path, runs_at: RunsAt | None = None
) -> None:
    """Write a copy of a report's page with what the logs of a checkout say of the runs.

    Its links to runs lead to the MLflow that is named.
    """
    text = with_runs(page.read_text(encoding="utf-8"), stages_that_ran(params, root))
    parts = Path(os.path.relpath(page.parent / PARTS, target.parent)).as_posix()
    led = body(parts) if runs_at is None else body(parts, runs_at.server, runs_at.experiment)
    write_text(target, text.replace(body(PARTS), led, 1))


def copied_page(root: Path, study: str) -> Path:
    """The place of the copy: as deep as the page itself, so that its links lead on."""
    return root / "logs" / study / "report.html"
