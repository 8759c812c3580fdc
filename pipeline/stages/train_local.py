"""Training in the stage's own process."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from pipeline.config.params import TrainedCell
from pipeline.files import remove, replacing
from pipeline.model.device import set_up_torch
from pipeline.model.manifest import StoredModel, resolve
from pipeline.model.weights import load_model, save_model
from pipeline.provenance import GRADING, MODEL, installed
from pipeline.stages.common import Stage, input_digest
from pipeline.stages.stop import StopRequest
from pipeline.stages.training import Settings, given_responses, say_skipped
from pipeline.train.checks import check_local
from pipeline.train.contract import History, Outcome
from pipeline.train.data import Rows, load_rows
from pipeline.train.local import LocalTrainer
from pipeline.train.probe import load_probe

Weights = dict[str, Tensor]


class LocalTraining:
    """A run of the local trainer.

    Args:
        stage: The stage.
        key: Key of the cell.
        cell: A trained cell.
    """

    def __init__(self, stage: Stage, key: str, cell: TrainedCell) -> None:
        recipe = cell.train
        check_local(recipe)
        self._stage, self._cell, self._recipe = stage, cell, recipe
        self._algorithm = cell.algorithm
        base, inputs = stage.root / cell.base, stage.root / cell.inputs
        threads = stage.params.study.threads
        set_up_torch(threads)
        stored = resolve(base, stage.store, cell.model, f"base@{cell.model}")
        self._policy, self._tokenizer = load_model(stored)
        limit = recipe.max_prompt_tokens
        train = self._rows(inputs / "train.parquet")
        self._validation = self._rows(inputs / "validation.parquet")
        self._probe = load_probe(inputs, self._tokenizer, recipe)
        say_skipped(key, train.skipped, self._validation.skipped, limit)
        self._train = given_responses(key, train, cell.algorithm)
        settings = cell.model_dump(mode="json", include={"algorithm", "seed", "train"})
        self.made_from: Settings = {
            **settings,
            "threads": threads,
            "base": input_digest(base),
            "data": input_digest(inputs),
        }
        self.work = stage.work(*self.made_from.values())
        self.total = recipe.total_steps(len(self._train.rows))
        self.skipped = self._train.skipped

    def _rows(self, path: Path) -> Rows:
        limit, think = self._recipe.max_prompt_tokens, self._recipe.think
        return load_rows(path, self._tokenizer, limit, think=think)

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        trainer = LocalTrainer(
            policy=self._policy,
            reference=copy.deepcopy(self._policy).requires_grad_(False),
            tokenizer=self._tokenizer,
            train=self._train.rows,
            validation=self._validation.rows,
            recipe=self._recipe,
            algorithm=self._algorithm,
            seed=self._cell.seed,
            work=self.work,
            report=report,
            should_stop=StopRequest().requested,
            probe=self._probe,
        )
        history = trainer.run()
        best, last = history.best, history.last
        assert best is not None
        return Outcome(
            history=history,
            checkpoints={
                "best": StoredModel(
                    step=best.step,
                    digest=self._stored("best", trainer, trainer.best_weights()),
                    validation_accuracy=best.accuracy,
                ),
                "last": StoredModel(step=last.step, digest=self._stored("last", trainer)),
            },
            libraries=installed(*MODEL, *GRADING),
        )

    def _stored(self, role: str, trainer: LocalTrainer, weights: Weights | None = None) -> str:
        """Put weights, or the policy's as they are, into the store; return their digest."""
        folder = self.work / role / "model"
        remove(folder)
        with replacing(folder) as temporary:
            save_model(temporary, trainer.policy, trainer.tokenizer, weights)
        return self._stage.store.put(folder)
