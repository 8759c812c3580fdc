"""Stage ``train@cell``: reinforcement learning from the base model; best and last checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.params import Cell
from pipeline.files import read_json, remove, remove_leftovers, write_json, write_lines
from pipeline.stages.common import Stage, cell_folder, run
from pipeline.stages.resume import read_options, take_up
from pipeline.stages.training import Step, Trained, Training
from pipeline.tracking import Tracker, cell_tracker


def main(stage: Stage, key: str, *options: str) -> None:
    """Train one cell; base and API cells train nothing and pass their manifest on."""
    resume = read_options(options)
    cell, folder, logs = cell_folder(stage, key)
    remove_leftovers(folder)
    if cell.train is None:
        content, trained, tracking = read_json(stage.root / cell.base), Trained([], [], {}), None
    else:
        content, trained, tracking = _train(stage, key, cell, resume)
    write_json(folder / "config.json", cell.model_dump(mode="json"))
    write_lines(folder / "metrics.jsonl", trained.metrics)
    write_lines(logs / "timing.jsonl", trained.timing)
    write_json(logs / "tracking.json", tracking)
    write_json(folder / "checkpoints.json", content)


def _train(
    stage: Stage, key: str, cell: Cell, resume: Path | None
) -> tuple[dict[str, Any], Trained, dict[str, str]]:
    """Train a cell; return its manifest, what came of it, and what leads to its MLflow run."""
    from pipeline.model.weights import manifest
    from pipeline.progress import ProgressReport

    assert cell.train is not None
    training = _prepare(stage, key, cell)
    take_up(training.work, training.made_from, resume)
    tracker = cell_tracker(stage.params, key, stage.root)
    with ProgressReport(f"train {key}", training.total) as progress:

        def report(step: Step) -> None:
            progress.at(step.step, _note(step.metrics))
            tracker.step("train", step.step, {**step.metrics, **step.timing}, step.at)
            if step.collapse:
                tracker.tags({"collapse_step": step.collapse.step})

        trained = training.run(report)
    content = manifest(cell.model, trained.checkpoints, cell.train.checkpoint)
    content["skipped_prompts"] = training.skipped
    tracker.dataset("train", stage.root / cell.inputs / "train.parquet")
    _track(tracker, trained)
    best = trained.checkpoints["best"]
    print(
        f"train {key}: best validation accuracy {best['validation_accuracy']:.1%} at step "
        f"{best['step']}, {trained.metrics[0]['validation_accuracy']:.1%} before"
    )
    remove(training.work)
    return content, trained, tracker.ids()


def _prepare(stage: Stage, key: str, cell: Cell) -> Training:
    """Return the training run of a cell, by its backend."""
    assert cell.train is not None
    if cell.train.backend == "verl":
        from pipeline.stages.train_verl import VerlTraining

        return VerlTraining(stage, key, cell)
    from pipeline.stages.train_local import LocalTraining

    return LocalTraining(stage, key, cell)


def _track(tracker: Tracker, trained: Trained) -> None:
    """Send all figures again, and what they led to."""
    best, last = trained.checkpoints["best"], trained.checkpoints["last"]
    tracker.replay("train", trained.metrics, trained.timing)
    tracker.tags({"best_step": best["step"], "checkpoint": best["digest"]})
    tracker.tags({"last_step": last["step"]})
    if trained.collapse:
        tracker.tags({"collapse_step": trained.collapse.step})
    tracker.finish()


def _note(metrics: dict[str, Any]) -> str:
    if "reward_mean" not in metrics:
        return f"validation {metrics['validation_accuracy']:.0%}"
    note = (
        f"reward {metrics['reward_mean']:.2f}  accuracy {metrics['accuracy']:.0%}  "
        f"length {metrics['length_mean']:.1f}"
    )
    if "validation_accuracy" in metrics:
        note += f"  validation {metrics['validation_accuracy']:.0%}"
    return note


if __name__ == "__main__":
    run("train", main)
