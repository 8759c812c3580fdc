"""Sending the files of a cell's finished stages to MLflow, live or later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.config.params import Params
from pipeline.evaluate.records import Evaluation
from pipeline.files import file_digest, read_lines
from pipeline.model.manifest import Manifest
from pipeline.records import Figures
from pipeline.tracking import Tracker, open_cell, prepare
from pipeline.train.collapse import find_collapse

_SCORES = ("accuracy", "strict_accuracy", "format_rate", "length_mean")


def mirror(tracker: Tracker, stage: str, folder: Path, logs: Path) -> None:
    """Send what a stage of a cell has written.

    Args:
        tracker: The cell's run.
        stage: ``train``, ``evaluate`` or ``gsm8k``.
        folder: Its results.
        logs: Its times; without them, results carry the time that their file was written.
    """
    _SENDERS[stage](tracker, stage, folder, logs)
    tracker.tags({f"sent.{stage}": _digest(stage, folder)})


def complete(params: Params, root: Path, *, again: bool = False) -> list[str]:
    """Send the results of every finished stage that MLflow lacks; return the cells sent.

    Args:
        params: The study.
        root: The checkout.
        again: Send all, whatever MLflow has.

    Raises:
        UserError: If MLflow does not answer.
    """
    prepare(root)
    sent = []
    for key in params.cells:
        there = {s: d for s in _SENDERS if (d := _digest(s, _folder(params, root, "runs", key, s)))}
        if not there:
            continue
        with open_cell(params, key, root) as tracker:
            missed = [s for s, d in there.items() if again or tracker.known.get(f"sent.{s}") != d]
            for stage in missed:
                folders = (_folder(params, root, top, key, stage) for top in ("runs", "logs"))
                mirror(tracker, stage, *folders)
            if missed:
                tracker.end("FINISHED", "sync", 0)
                sent.append(key)
    return sent


def _folder(params: Params, root: Path, top: str, key: str, stage: str) -> Path:
    return root / top / params.study.name / key / stage


def _digest(stage: str, folder: Path) -> str:
    """Return the digest of a stage's results; empty where there are none."""
    path = folder / _NAMES[stage]
    return file_digest(path)[:16] if path.is_file() else ""


_NAMES = {"train": "metrics.jsonl", "evaluate": "metrics.json", "gsm8k": "metrics.json"}


def _send_training(tracker: Tracker, stage: str, folder: Path, logs: Path) -> None:
    rows: list[Figures] = read_lines(folder / "metrics.jsonl")
    if not rows:
        return
    times = {row["step"]: row for row in _times(logs)}
    written = (folder / "metrics.jsonl").stat().st_mtime
    for row in rows:
        timing = times.get(row["step"], {"at": written})
        tracker.step(stage, int(row["step"]), {**row, **timing}, float(timing["at"]))
    path = folder / "checkpoints.json"
    checkpoints = Manifest.read(path, f"{stage}@{folder.parent.name}").checkpoints
    best, last = checkpoints["best"], checkpoints["last"]
    tags: dict[str, object] = {
        "best_step": best.step,
        "checkpoint": best.digest,
        "last_step": last.step,
    }
    if collapse := find_collapse(rows):
        tags["collapse_step"] = collapse.step
    tracker.tags(tags)


def _send_scores(tracker: Tracker, stage: str, folder: Path, logs: Path) -> None:
    path = folder / "metrics.json"
    found = Evaluation.read(path, f"{stage}@{folder.parent.name}")
    values = {
        f"{task}/{name}": getattr(scores, name)
        for task, scores in found.tasks.items()
        for name in _SCORES
    }
    times = _times(logs)
    tracker.step(stage, 0, values, times[-1]["at"] if times else path.stat().st_mtime)


def _times(logs: Path) -> list[dict[str, float]]:
    path = logs / "timing.jsonl"
    return read_lines(path) if path.is_file() else []


_SENDERS: dict[str, Callable[[Tracker, str, Path, Path], None]] = {
    "train": _send_training,
    "evaluate": _send_scores,
    "gsm8k": _send_scores,
}
