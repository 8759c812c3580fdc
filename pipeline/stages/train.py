"""Stage ``train@cell``: training from a base model or another cell; best and last checkpoints."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.base.plugins import ALARM
from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell, TrainedCell
from pipeline.formats.files import replacing, write_lines
from pipeline.formats.records import Figures
from pipeline.model.manifest import NO_WEIGHTS, SERVED_BY, Manifest, ServedManifest
from pipeline.stages.common import CellStage, Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.followed import PATIENCE, StageRun, followed
from pipeline.stages.resume import StateOf, begin, leave, read_options
from pipeline.stages.training import Training, TrainingConfig, prepare, start_of
from pipeline.train.contract import History, Outcome
from pipeline.train.kept_rollouts import TABLE, RolloutLog, write_rollouts

if TYPE_CHECKING:  # it changes nothing of what is trained: no digest has it
    from pipeline.judge.alarm import Alarm, LogWatch

log = logging.getLogger(__name__)


def main(stage: Stage, key: str, *options: str) -> None:
    """Train one cell; all other cells pass their model on."""
    resume = read_options(options)
    cell, own = stage.params.cell(key), stage.of(key)
    if isinstance(cell, TrainedCell):
        training = prepare(own, cell)
        patience = PATIENCE if cell.train.backend == "local" else 0.0
        with owned(training.work), followed(own, patience) as shown:
            _train(own, cell, training, resume, shown)
        return
    kind: type[Manifest | ServedManifest] = Manifest
    if isinstance(cell, ApiCell):
        kind = SERVED_BY[cell.evaluate.engine]
    start = stage.start_of(cell)
    manifest = kind.read_of(stage.root / cell.base, cell.model, start.made_by)
    if isinstance(manifest, Manifest):
        own.weights.keep_only([own.weights.share(start, manifest.used.digest)])
    else:
        own.weights.keep_none(NO_WEIGHTS)
    _write(own, TrainingConfig(cell=cell, libraries={}), History(), None)
    with replacing(own.checkpoints) as temporary:
        shutil.copy(stage.root / cell.base, temporary)


def _write(own: CellStage, config: TrainingConfig, history: History, work: Path | None) -> None:
    config.write(own.results / "config.json")
    write_lines(own.results / "metrics.jsonl", history.rows())
    write_rollouts(work, own.results / TABLE)
    write_lines(own.logs / "timing.jsonl", history.timing_rows())


def _train(
    own: CellStage, cell: TrainedCell, training: Training, resume: Path | None, shown: StageRun
) -> None:
    """Train a cell and write what came of it."""
    start = start_of(own.stage, cell)
    of = StateOf(study=own.stage.study, cell=own.key)
    begin(training.work, of, training.total, training.made_from, resume)
    outcome = _followed(training, own, cell, shown)
    own.weights.keep_only([each.digest for each in outcome.models])
    config = TrainingConfig(cell=cell, libraries=outcome.libraries, start=start)
    _write(own, config, outcome.history, training.work)
    Manifest(
        model=cell.model,
        use=cell.train.checkpoint,
        checkpoints={role: found for role, found in outcome.checkpoints.items()},
        kept=outcome.kept,
        skipped_prompts=training.skipped,
    ).write(own.checkpoints)
    best, before = outcome.checkpoints["best"], outcome.history.steps[0]
    if best.validation_accuracy is not None:  # verl does not validate imitation
        print(
            f"{own.title}: best validation accuracy {best.validation_accuracy:.1%} at step "
            f"{best.step}, {before.accuracy:.1%} before"
        )
    leave(training.work, of, training.total if training.lengthens else None)


def _followed(training: Training, own: CellStage, cell: TrainedCell, shown: StageRun) -> Outcome:
    """Train, showing every step."""
    look = _watching(own, cell, training.work) if cell.algorithm.samples else lambda _: None
    with ProgressReport(own.title, training.total) as progress:
        told: list[Alarm] = []

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
            if not told and (shortcut := look(step.step)):
                told.append(shortcut)
                log.warning("%s", shortcut.describe())
                shown.tags({"shortcut_step": shortcut.step, "shortcut": shortcut.shortcut})
                if cell.train.stop_on == "alarm":
                    raise UserError(
                        f"{own.title}: stopped at step {step.step} of {training.total}, as "
                        "train.stop_on is alarm; without it, the cell goes on from its last "
                        "checkpoint"
                    )

        return training.run(report)


def _watching(own: CellStage, cell: TrainedCell, work: Path) -> Callable[[int], Alarm | None]:
    """Looks for a shortcut in what has come of a run's rollouts since the last look."""
    watch = cast("type[LogWatch]", ALARM.load())
    return watch(own.stage.root / cell.inputs / "train.parquet", RolloutLog(work)).look


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
