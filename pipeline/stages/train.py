"""Stage ``train@cell``: training from a base model or another cell; best and last checkpoints."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from pipeline.base.ownership import owned
from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell, TrainedCell
from pipeline.formats.files import replacing, write_lines
from pipeline.formats.records import Figures
from pipeline.model.manifest import NO_WEIGHTS, SERVED_BY, Manifest, ServedManifest
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.followed.run import PATIENCE, StageRun, followed
from pipeline.stages.resume import StateOf, begin, leave, read_options
from pipeline.stages.training import Training, TrainingConfig, prepare, start_of
from pipeline.train.contract import History, Outcome

log = logging.getLogger(__name__)


def main(stage: Stage, key: str, *options: str) -> None:
    """Train one cell; all other cells pass their model on."""
    resume = read_options(options)
    cell, folder = stage.params.cell(key), stage.runs / key / stage.name
    if isinstance(cell, TrainedCell):
        training = prepare(stage, key, cell)
        patience = PATIENCE if cell.train.backend == "local" else 0.0
        with owned(training.work), followed(stage, key, patience) as shown:
            _train(stage, key, cell, training, resume, shown)
        return
    kind: type[Manifest | ServedManifest] = Manifest
    if isinstance(cell, ApiCell):
        kind = SERVED_BY[cell.evaluate.engine]
    start, own = stage.start_of(cell), stage.weights_of(key)
    manifest = kind.read_of(stage.root / cell.base, cell.model, start.made_by)
    if isinstance(manifest, Manifest):
        own.keep_only([own.share(start, manifest.used.digest)])
    else:
        own.keep_none(NO_WEIGHTS)
    _write(stage, key, TrainingConfig(cell=cell, libraries={}), History())
    with replacing(folder / "checkpoints.json") as temporary:
        shutil.copy(stage.root / cell.base, temporary)


def _write(stage: Stage, key: str, config: TrainingConfig, history: History) -> None:
    folder, logs = stage.runs / key / stage.name, stage.logs / key / stage.name
    config.write(folder / "config.json")
    write_lines(folder / "metrics.jsonl", history.rows())
    write_lines(logs / "timing.jsonl", history.timing_rows())


def _train(
    stage: Stage,
    key: str,
    cell: TrainedCell,
    training: Training,
    resume: Path | None,
    shown: StageRun,
) -> None:
    """Train a cell and write what came of it."""
    start = start_of(stage, cell)
    of = StateOf(study=stage.study, cell=key)
    begin(training.work, of, training.total, training.made_from, resume)
    outcome = _followed(training, key, shown)
    stage.weights_of(key).keep_only([each.digest for each in outcome.models])
    config = TrainingConfig(cell=cell, libraries=outcome.libraries, start=start)
    _write(stage, key, config, outcome.history)
    Manifest(
        model=cell.model,
        use=cell.train.checkpoint,
        checkpoints={role: found for role, found in outcome.checkpoints.items()},
        kept=outcome.kept,
        skipped_prompts=training.skipped,
    ).write(stage.runs / key / stage.name / "checkpoints.json")
    best, before = outcome.checkpoints["best"], outcome.history.steps[0]
    print(
        f"train {key}: best validation accuracy {best.validation_accuracy:.1%} at step "
        f"{best.step}, {before.accuracy:.1%} before"
    )
    leave(training.work, of, training.total if training.lengthens else None)


def _followed(training: Training, key: str, shown: StageRun) -> Outcome:
    """Train, showing every step."""
    with ProgressReport(f"train {key}", training.total) as progress:

        def report(history: History) -> None:
            step = history.last
            progress.at(step.step, _note(step.metrics))
            shown.step("train", step.step, step.metrics, step.at, step.timing)
            if alarm := history.alarm:
                log.warning("%s", alarm.describe())
                shown.tags({"collapse_step": alarm.step})
            if drift := history.drift_alarm:
                log.warning("%s", drift.describe())
                shown.tags({"drift_step": drift.step})

        return training.run(report)


_VALIDATED = ("validation_accuracy", "validation", ".0%")
_IMITATED = (("loss", "loss", ".3f"), _VALIDATED)
_REWARDED = (
    ("reward_mean", "reward", ".2f"),
    ("accuracy", "accuracy", ".0%"),
    ("length_mean", "length", ".1f"),
    _VALIDATED,
)
"""What the terminal shows of a step: the figure, its word, its form."""


def _note(metrics: Figures) -> str:
    noted = _REWARDED if "reward_mean" in metrics else _IMITATED
    said = (f"{word} {metrics[n]:{form}}" for n, word, form in noted if n in metrics)
    return "  ".join(said)


if __name__ == "__main__":
    run("train", main, of_cell)
