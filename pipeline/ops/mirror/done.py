"""The files of a stage of a cell, as far as MLflow is told of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.evaluate.records import Evaluation, TaskScores
from pipeline.formats.files import file_digest
from pipeline.formats.records import Figures, read_figures
from pipeline.stages.followed import Ended, read_ended

log = logging.getLogger(__name__)

SIDE_CHECK = "gsm8k"
"""What the names of a side-check's metrics begin with."""

_NAMES = {
    "train": "metrics.jsonl",
    "evaluate": "metrics.json",
    "judge": "verdicts.json",
}


@dataclass(frozen=True)
class Done:
    """A finished stage of a cell."""

    params: Params
    key: str
    stage: str
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "runs" / self.params.study.name / self.key / self.stage

    @property
    def logs(self) -> Path:
        """The folder of its times; without them, results carry that of their file."""
        return self.root / "logs" / self.params.study.name / self.key / self.stage

    @property
    def made_by(self) -> str:
        return f"{self.stage}@{self.key}"

    @cached_property
    def ended(self) -> Ended | None:
        """How it ended; None where nothing is known of that."""
        return read_ended(self.logs)

    @property
    def digest(self) -> str:
        """The digest of its results; empty where there are none."""
        path = self.folder / _NAMES[self.stage]
        return file_digest(path)[:16] if path.is_file() else ""

    def scores(self) -> dict[str, dict[str, TaskScores]]:
        """Scores by column, of tasks and of side-checks, each by the first part of their names.

        Raises:
            UserError: If that is damaged, or of other columns.
        """
        suite = self.params.suite
        found = Evaluation.read_of(self.folder / "metrics.json", suite.columns, self.made_by).tasks
        checks = {name: found.pop(name) for name in suite.side_checks if name in found}
        return {"evaluate": found, SIDE_CHECK: checks}

    @property
    def measured_at(self) -> float:
        """When ``evaluate`` has measured, in seconds since the epoch."""
        times = times_of(self)
        return float(times[-1]["at"]) if times else (self.folder / "metrics.json").stat().st_mtime


def times_of(done: Done) -> list[Figures]:
    """What the log says of the times of steps; a damaged log stops nothing."""
    path = done.logs / "timing.jsonl"
    if not path.is_file():
        return []
    try:
        rows = read_figures(path, done.made_by)
    except UserError:
        rows = [{}]
    if not all("at" in row for row in rows):
        log.warning("%s is damaged; results carry the time that their file was written", path)
        return []
    return rows
