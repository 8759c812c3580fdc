"""A report of the cells that are there, where others failed or were not run.

It lies in ``logs/``: it differs from run to run, and DVC tracks no half of a study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.analysis.collect import collect
from pipeline.analysis.results import Results
from pipeline.config.params import Params
from pipeline.ops.mirror.ran import write_with_runs
from pipeline.stages.common import Stage
from pipeline.stages.report import write


def partial_folder(home: Path, study: str) -> Path:
    return home / "logs" / study / "partial"


def write_partial(params: Params, root: Path, target: Path, failures: Mapping[str, str]) -> Results:
    """Write a report of the cells that have results, and return these.

    Args:
        params: The study.
        root: The checkout, or the worktree where a sweep gathers results.
        target: The folder of the report.
        failures: Why cells have failed, as far as that is known.

    Raises:
        UserError: If what all cells share is missing, or a file is damaged.
    """
    results = collect(params, root, failures)
    write(Stage("report", root, params), results, target)
    write_with_runs(params, root, target / "index.html", target / "index.html")
    return results
