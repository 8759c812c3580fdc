"""A run of the local trainer, from files to weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from pipeline.config.params import TrainedCell
from pipeline.engine.device import set_up_torch
from pipeline.engine.families import refuse_unfit
from pipeline.formats.files import remove, replacing
from pipeline.formats.provenance import GRADING, MODEL, installed
from pipeline.formats.weights import WeightsFolder
from pipeline.model.manifest import StoredModel
from pipeline.model.weights import copy_generation, load_model, save_model
from pipeline.train.contract import History, Outcome
from pipeline.train.data import CellRows
from pipeline.train.kept import KeptSteps
from pipeline.train.local import LocalTrainer

Weights = dict[str, Tensor]


class LocalRun:
    """A run whose model and data are loaded; trained models go to ``weights``."""

    def __init__(
        self, cell: TrainedCell, threads: int, base: Path, inputs: Path, weights: WeightsFolder
    ) -> None:
        set_up_torch(threads)
        self._cell, self._base, self._weights = cell, base, weights
        self._policy, self._tokenizer = load_model(base)
        recipe = cell.train
        refuse_unfit(self._policy, recipe.max_prompt_tokens + recipe.max_new_tokens)
        self.rows = CellRows.load(inputs, self._tokenizer, cell)

    def train(
        self,
        work: Path,
        report: Callable[[History, int], None],
        should_stop: Callable[[], bool],
    ) -> Outcome:
        """Train to the end.

        Args:
            report: Called after every step with the history up to it, and the step of the last
                checkpoint.

        Raises:
            Interrupted: If ``should_stop`` is true; running again resumes.
            UserError: For failures that the user must fix.
        """
        kept = KeptSteps(work / "kept", lambda folder: self._write(folder, trainer.weights()))
        trainer = LocalTrainer(
            policy=self._policy,
            tokenizer=self._tokenizer,
            train=self.rows.train.rows,
            validation=self.rows.validation.rows,
            recipe=self._cell.train,
            algorithm=self._cell.algorithm,
            seed=self._cell.seed,
            work=work,
            report=lambda history: report(history, trainer.saved),
            should_stop=should_stop,
            kept=kept if self._cell.keeps else None,
        )
        history = trainer.run()
        best, last = history.best, history.last
        assert best is not None
        return Outcome(
            history=history,
            checkpoints={
                "best": StoredModel(
                    step=best.step,
                    digest=self._stored(work / "best", trainer.best_weights()),
                    validation_accuracy=best.accuracy,
                ),
                "last": StoredModel(
                    step=last.step, digest=self._stored(work / "last", trainer.weights())
                ),
            },
            libraries=installed(*MODEL, *GRADING),
            kept=kept.stored(trainer.kept_steps(), self._weights),
        )

    def _stored(self, folder: Path, weights: Weights) -> str:
        remove(folder / "model")
        with replacing(folder / "model") as temporary:
            self._write(temporary, weights)
        return self._weights.take(folder / "model")

    def _write(self, folder: Path, weights: Weights) -> None:
        save_model(folder, self._policy, self._tokenizer, weights)
        copy_generation(self._base, folder)
