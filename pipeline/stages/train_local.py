"""Training in the stage's own process."""

from __future__ import annotations

import copy
import signal
from collections.abc import Callable
from typing import Any

from pipeline.config.params import Cell
from pipeline.files import remove, replacing
from pipeline.model.weights import load_model, resolve, save_model
from pipeline.stages.common import Stage, input_digest, use_threads
from pipeline.stages.training import Step, Trained, say_skipped
from pipeline.train.data import load_rows
from pipeline.train.local import LocalTrainer, StepReport, TrainingResult
from pipeline.train.probe import load_probe


class LocalTraining:
    """A run of the local trainer.

    Args:
        stage: The stage.
        key: Key of the cell.
        cell: A trained cell.
    """

    def __init__(self, stage: Stage, key: str, cell: Cell) -> None:
        recipe = cell.train
        assert recipe is not None and cell.algorithm is not None
        self._stage, self._cell, self._recipe = stage, cell, recipe
        base, inputs = stage.root / cell.base, stage.root / cell.inputs
        threads = stage.params.study.threads
        use_threads(threads)
        self._policy, self._tokenizer = load_model(resolve(base, stage.store, f"base@{cell.model}"))
        limit = recipe.max_prompt_tokens
        self._train = load_rows(inputs / "train.parquet", self._tokenizer, limit)
        self._validation = load_rows(inputs / "validation.parquet", self._tokenizer, limit)
        self._probe = load_probe(inputs, self._tokenizer, recipe)
        say_skipped(key, self._train.skipped, self._validation.skipped, limit)
        settings = cell.model_dump(mode="json", include={"algorithm", "seed", "train"})
        self.made_from = {
            **settings,
            "threads": threads,
            "base": input_digest(base),
            "data": input_digest(inputs),
        }
        self.work = stage.work(*self.made_from.values())
        self.total = recipe.total_steps(len(self._train.rows))
        self.skipped = self._train.skipped

    def run(self, report: Callable[[Step], None]) -> Trained:
        """Train; see :class:`pipeline.stages.training.Training`."""
        assert self._cell.algorithm is not None

        def told(step: StepReport) -> None:
            report(Step(step.step, step.metrics, step.timing, step.at, step.collapse))

        trainer = LocalTrainer(
            policy=self._policy,
            reference=copy.deepcopy(self._policy).requires_grad_(False),
            tokenizer=self._tokenizer,
            train=self._train.rows,
            validation=self._validation.rows,
            recipe=self._recipe,
            algorithm=self._cell.algorithm,
            seed=self._cell.seed,
            work=self.work,
            report=told,
            should_stop=_StopRequest().requested,
            probe=self._probe,
        )
        outcome = trainer.run()
        checkpoints = self._store_checkpoints(trainer, outcome)
        return Trained(outcome.metrics, outcome.timing, checkpoints, outcome.collapse)

    def _store_checkpoints(
        self, trainer: LocalTrainer, outcome: TrainingResult
    ) -> dict[str, dict[str, Any]]:
        """Put the best and the last weights into the store; return their manifest entries."""
        digests = {}
        for role, weights in (("best", trainer.best_weights()), ("last", None)):
            folder = self.work / role / "model"
            remove(folder)
            with replacing(folder) as temporary:
                save_model(temporary, trainer.policy, trainer.tokenizer, weights)
            digests[role] = self._stage.store.put(folder)
        best = {"validation_accuracy": outcome.best_accuracy}
        return {
            "best": {"step": outcome.best_step, "digest": digests["best"], **best},
            "last": {"step": outcome.last_step, "digest": digests["last"]},
        }


class _StopRequest:
    """Turns SIGTERM and Ctrl-C into a question the trainer asks after every step."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        if self._asked:  # a second request does not wait for the step
            raise KeyboardInterrupt
        self._asked = True

    def requested(self) -> bool:
        return self._asked
