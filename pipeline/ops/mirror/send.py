"""Sending the files of a cell's finished stages to MLflow, live or later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.git import checked_out
from pipeline.config.params import Params, TrainedCell
from pipeline.judge.columns import judged_together
from pipeline.judge.records import Verdicts
from pipeline.ops.mirror.catalogue import Catalogue
from pipeline.ops.mirror.cell_run import CellRun, cell_tracker, current_study, study_tracker
from pipeline.ops.mirror.done import Done, times_of
from pipeline.ops.mirror.run import Tracker
from pipeline.ops.mirror.server import answering, prepare, tracking_uri
from pipeline.stages.followed import COMMIT
from pipeline.train.collapse import find_collapse
from pipeline.train.contract import read_training
from pipeline.train.drift import find_drift
from pipeline.train.stall import find_stall

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SCORES = ("accuracy", "strict_accuracy", "format_rate", "no_answer", "length_mean")


def complete(
    params: Params,
    root: Path,
    keys: Iterable[str] | None = None,
    *,
    study: Tracker | None = None,
    again: bool = False,
) -> list[str]:
    """Send the results of every finished stage that MLflow lacks; return the cells sent.

    Args:
        params: The study.
        root: The checkout.
        keys: The cells that are looked at; all if absent.
        study: The run of the study; that of the last work if absent.
        again: Send all, whatever MLflow has; the study's report too.

    Raises:
        UserError: If MLflow does not answer.
    """
    there = {key: _left_by(params, root, key) for key in keys or params.cells}
    there = {key: left for key, left in there.items() if left}
    client = prepare(root)
    with answering(tracking_uri(root)):
        parent = study or _study_of(client, params, root, there)
        trackers = {
            key: cell_tracker(client, params, key, parent, _began(left))
            for key, left in there.items()
        }
    sent = [key for key, left in there.items() if _send(trackers[key], parent, left, again)]
    if keys is None:
        Catalogue(params, root, parent, trackers).send(again=again)
    if not any(name.startswith("seconds.") for name in parent.known):  # made to be sent to
        parent.end("FINISHED", "sync", 0)
    return sent


def _left_by(params: Params, root: Path, key: str) -> list[Done]:
    """The stages of a cell that have left results, or how they ended."""
    stages = [Done(params, key, stage, root) for stage in STAGES]
    return [done for done in stages if done.digest or done.ended]


def _began(stages: Iterable[Done]) -> float | None:
    return min((done.ended.began for done in stages if done.ended), default=None)


def _study_of(
    client: MlflowClient, params: Params, root: Path, there: Mapping[str, Sequence[Done]]
) -> Tracker:
    """The run of the study at the commit of the last work that is known of."""
    ends = [done.ended for stages in there.values() for done in stages if done.ended]
    last = max(ends, key=lambda end: end.began, default=None)
    current = current_study(client, params)
    if current and (last is None or last.began < current.started):
        return current
    if last is None:
        return study_tracker(client, params, checked_out(root))
    began = min(end.began for end in ends)
    return study_tracker(client, params, last.circumstances.get(COMMIT, ""), began)


def _send(tracker: Tracker, parent: Tracker, stages: Sequence[Done], again: bool) -> bool:
    """Send what stages of one cell have left, as far as it is missing; return whether any was."""
    if any([send_stage(tracker, parent, done, again) for done in stages]):
        # What went wrong with any of its stages is what a cell is known by.
        ends = [done.ended.status for done in stages if done.ended]
        tracker.end(next((each for each in ends if each != "FINISHED"), "FINISHED"), "sync", 0)
        return True
    return False


def send_stage(tracker: Tracker, parent: Tracker, done: Done, again: bool = False) -> bool:
    """Send what one stage of a cell has left and how it ended, as far as that is missing.

    Args:
        tracker: The cell's run.
        parent: The study's.
        done: The stage.
        again: Send its results, whatever MLflow has.

    Returns:
        Whether anything was sent.
    """
    missing = bool(done.digest) and (
        again or tracker.known.get(f"sent.{done.stage}") != done.digest
    )
    if missing:
        _SENDERS[done.stage](tracker, done)
        tracker.tags({f"sent.{done.stage}": done.digest})
    run, ended = CellRun(tracker, parent, done.key, done.stage), done.ended
    if ended is None or run.knows(ended):
        return missing
    tracker.tags(ended.circumstances)
    run.end(ended)
    return True


def _send_training(tracker: Tracker, done: Done) -> None:
    cell = done.params.cell(done.key)
    if not isinstance(cell, TrainedCell):
        return
    trained_on = done.root / cell.inputs / "train.parquet"
    if trained_on.is_file():
        tracker.dataset("train", trained_on)
    rows, manifest = read_training(done.folder, cell.model, done.made_by)
    times = {row["step"]: row for row in times_of(done)}
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
    if drift := find_drift(rows):
        tags["drift_step"] = drift.step
    if stall := find_stall(rows):
        tags["stall_step"] = stall.step
    tracker.tags(tags | _shortcut(done, trained_on))


def _shortcut(done: Done, trained_on: Path) -> dict[str, object]:
    """The shortcut that a training takes up, by what is kept of its rollouts."""
    # They load for a second, and most commands send nothing.
    import pandas as pd

    from pipeline.data.codec import read_dataset
    from pipeline.judge.alarm import alarm_of
    from pipeline.train.kept_rollouts import TABLE, rows_of

    kept = done.folder / TABLE
    rows = rows_of(pd.read_parquet(kept)) if trained_on.is_file() and kept.is_file() else []
    if not rows:
        return {}
    found = alarm_of(rows, {row.example.id: row.example for row in read_dataset(trained_on)})
    return {"shortcut": found.shortcut, "shortcut_step": found.step} if found else {}


def _send_scores(tracker: Tracker, done: Done) -> None:
    for begun, tasks in done.scores().items():
        values = {
            f"{task}/{name}": getattr(scores, name)
            for task, scores in tasks.items()
            for name in _SCORES
        } | {
            f"{task}/{name.replace(':', '.').replace(' ', '_').replace('@', '_at_')}": value
            for task, scores in tasks.items()
            for name, value in scores.beside_accuracy().items()
        }
        tracker.step(begun, 0, values, done.measured_at)


def _send_verdicts(tracker: Tracker, done: Done) -> None:
    path = done.folder / "verdicts.json"
    found = Verdicts.read_of(path, judged_together(done.params.suite.tasks), done.made_by)
    tags: dict[str, object] = {}
    figures: dict[str, float] = {}
    for task, verdict in found.tasks.items():
        tags |= {f"answers.{task}": verdict.follow, f"reasoning.{task}": verdict.reasoning}
        figures |= {f"{task}/{name}": value for name, value in verdict.figures.items()}
    tracker.tags(tags)
    tracker.step(done.stage, 0, figures, path.stat().st_mtime)


_SENDERS: dict[str, Callable[[Tracker, Done], None]] = {
    "train": _send_training,
    "evaluate": _send_scores,
    "judge": _send_verdicts,
}

STAGES = tuple(_SENDERS)
"""The stages of a cell, in order."""
