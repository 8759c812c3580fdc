"""Sending the files of a cell's finished stages to MLflow, live or later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.params import Params, TrainedCell
from pipeline.errors import UserError
from pipeline.evaluate.records import Evaluation
from pipeline.files import file_digest
from pipeline.judge.columns import judged_together
from pipeline.judge.records import Verdicts
from pipeline.records import Figures, read_figures
from pipeline.tracking import Tracker, cell_tracker, prepare, study_tracker
from pipeline.train.collapse import find_collapse
from pipeline.train.contract import read_training

log = logging.getLogger(__name__)

_NAMES = {
    "train": "metrics.jsonl",
    "evaluate": "metrics.json",
    "judge": "verdicts.json",
    "gsm8k": "metrics.json",
}
_SCORES = ("accuracy", "strict_accuracy", "format_rate", "length_mean")


@dataclass(frozen=True)
class Done:
    """A finished stage of a cell."""

    params: Params
    key: str
    stage: str
    root: Path

    @property
    def folder(self) -> Path:
        """Return the folder of its results."""
        return self.root / "runs" / self.params.study.name / self.key / self.stage

    @property
    def logs(self) -> Path:
        """Return the folder of its times; without them, results carry that of their file."""
        return self.root / "logs" / self.params.study.name / self.key / self.stage

    @property
    def made_by(self) -> str:
        """Return the name of the DVC stage."""
        return f"{self.stage}@{self.key}"

    @property
    def digest(self) -> str:
        """Return the digest of its results; empty where there are none."""
        path = self.folder / _NAMES[self.stage]
        return file_digest(path)[:16] if path.is_file() else ""


def mirror(tracker: Tracker, params: Params, key: str, stage: str, root: Path) -> None:
    """Send what a stage of a cell has written; its times too, where they are there.

    Args:
        tracker: The cell's run.
        params: The study.
        key: The cell.
        stage: A stage of the cell.
        root: The checkout.
    """
    done = Done(params, key, stage, root)
    _SENDERS[stage](tracker, done)
    tracker.tags({f"sent.{stage}": done.digest})


def complete(params: Params, root: Path, *, again: bool = False) -> list[str]:
    """Send the results of every finished stage that MLflow lacks; return the cells sent.

    Args:
        params: The study.
        root: The checkout.
        again: Send all, whatever MLflow has.

    Raises:
        UserError: If MLflow does not answer.
    """
    client = prepare(root)
    parent, sent = study_tracker(client, params), []
    for key in params.cells:
        there = {s: digest for s in _SENDERS if (digest := Done(params, key, s, root).digest)}
        if not there:
            continue
        tracker = cell_tracker(client, params, key, parent)
        missed = [s for s, d in there.items() if again or tracker.known.get(f"sent.{s}") != d]
        for stage in missed:
            mirror(tracker, params, key, stage, root)
        if missed:
            tracker.end("FINISHED", "sync", 0)
            sent.append(key)
    return sent


def _send_training(tracker: Tracker, done: Done) -> None:
    cell = done.params.cell(done.key)
    if not isinstance(cell, TrainedCell):
        return
    rows, manifest = read_training(done.folder, cell.model, done.made_by)
    times = {row["step"]: row for row in _times(done)}
    written = (done.folder / "metrics.jsonl").stat().st_mtime
    for row in rows:
        timing = times.get(row["step"], {"at": written})
        tracker.step(done.stage, int(row["step"]), row, float(timing["at"]), timing)
    best, last = manifest.checkpoints["best"], manifest.checkpoints["last"]
    tags: dict[str, object] = {
        "best_step": best.step,
        "checkpoint": best.digest,
        "last_step": last.step,
    }
    if collapse := find_collapse(rows):
        tags["collapse_step"] = collapse.step
    tracker.tags(tags)


def _send_scores(tracker: Tracker, done: Done) -> None:
    check, path = done.params.cell(done.key).gsm8k.task, done.folder / "metrics.json"
    columns = done.params.suite.tasks if done.stage == "evaluate" else [check]
    found = Evaluation.read_of(path, columns, done.made_by)
    values = {
        f"{task}/{name}": getattr(scores, name)
        for task, scores in found.tasks.items()
        for name in _SCORES
    } | {
        f"{task}/{name.replace(':', '.').replace(' ', '_').replace('@', '_at_')}": value
        for task, scores in found.tasks.items()
        for name, value in scores.beside_accuracy().items()
    }
    times = _times(done)
    tracker.step(done.stage, 0, values, times[-1]["at"] if times else path.stat().st_mtime)


def _send_verdicts(tracker: Tracker, done: Done) -> None:
    path = done.folder / "verdicts.json"
    found = Verdicts.read_of(path, judged_together(done.params.suite.tasks), done.made_by)
    tags: dict[str, object] = {}
    for task, verdict in found.tasks.items():
        tags |= {f"answers.{task}": verdict.follow, f"reasoning.{task}": verdict.reasoning}
    tracker.tags(tags)


def _times(done: Done) -> list[Figures]:
    """Return what the log says of the times of steps; a damaged log stops nothing."""
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


_SENDERS: dict[str, Callable[[Tracker, Done], None]] = {
    "train": _send_training,
    "evaluate": _send_scores,
    "judge": _send_verdicts,
    "gsm8k": _send_scores,
}
