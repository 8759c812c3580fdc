"""Training by the local trainer: in the stage's own process, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import cast

from pipeline.base.plugins import ELSEWHERE
from pipeline.config.params import TrainedCell
from pipeline.engine.device import own_gpu
from pipeline.model.manifest import resolve
from pipeline.stages.common import CellStage, Stage, input_digest
from pipeline.stages.stop import StopRequest
from pipeline.stages.training import Settings, Training, say_left_out
from pipeline.train.contract import History, Outcome
from pipeline.train.local_run import LocalRun


def prepare_local(own: CellStage, cell: TrainedCell) -> Training:
    """A run of the local trainer: on the cluster of ``RAY_ADDRESS``, else here."""
    if os.environ.get("RAY_ADDRESS"):
        elsewhere = cast(Callable[[CellStage, TrainedCell], Training], ELSEWHERE.load())
        return elsewhere(own, cell)
    return LocalTraining(own, cell)


def made_from(stage: Stage, cell: TrainedCell) -> Settings:
    """Everything that the result of a run depends on; not where it runs."""
    elsewhere = {"train": {"cluster", "stop_on"}}
    settings = cell.model_dump(
        mode="json", include={"algorithm", "seed", "train", "keeps"}, exclude=elsewhere
    )
    return {
        **settings,
        "threads": stage.params.study.threads,
        "base": input_digest(stage.root / cell.base),
        "data": input_digest(stage.root / cell.inputs),
    }


def _lengthening(cell: TrainedCell, settings: Settings) -> tuple[Settings, bool]:
    """What a run is made from, without its length where no step depends on it, and whether so."""
    recipe = settings["train"]
    assert isinstance(recipe, dict)
    if cell.train.learning_rate_schedule != "constant":
        return settings, False
    kept = {name: value for name, value in recipe.items() if name not in ("steps", "epochs")}
    return {**settings, "train": kept}, True


class LocalTraining:
    """A run of the local trainer in the stage's own process.

    Args:
        own: The stage of the cell.
        cell: A trained cell.
    """

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        stage = own.stage
        base = resolve(stage.root / cell.base, stage.start_of(cell), cell.model)
        threads = stage.params.study.threads
        self._title, self._device = own.title, cell.train.device
        self._run = LocalRun(cell, threads, base, stage.root / cell.inputs, own.weights)
        say_left_out(own.key, self._run.rows, cell)
        self.made_from, self.lengthens = _lengthening(cell, made_from(stage, cell))
        self.work = stage.work(*self.made_from.values())
        self.total = cell.train.total_steps(len(self._run.rows.train.rows))
        self.skipped = self._run.rows.train.skipped

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        with own_gpu(self._device, partial(print, f"{self._title}:", flush=True)):
            return self._run.train(
                self.work, lambda history, _: report(history), StopRequest().requested
            )
