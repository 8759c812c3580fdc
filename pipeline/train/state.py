"""The resumable state of a local run: models with optimisers, history, best weights.

It decides all later steps, so that a killed and resumed run ends in the same bytes as any other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from torch import Tensor

from pipeline.formats.files import remove
from pipeline.train import checkpoint as checkpoints
from pipeline.train.checkpoint import Checkpoint
from pipeline.train.contract import History
from pipeline.train.learner import Learner

log = logging.getLogger(__name__)


@dataclass
class RunState:
    """The state of a run on disk.

    Attributes:
        learners: The models that learn, by the prefix of their tensors.
        saved: The step of the last checkpoint.
    """

    work: Path
    learners: dict[str, Learner]
    saved: int = 0

    def save(self, history: History) -> None:
        """Write the state after the last finished step, unless it is there already."""
        step = history.last.step if history.steps else 0
        if step == self.saved:
            return
        tensors: dict[str, Tensor] = {}
        for prefix, learner in self.learners.items():
            tensors |= learner.tensors(prefix)
        checkpoints.save(self.work / "state", Checkpoint(step, tensors, history.model_dump()))
        self.saved = step

    def restore(self, fitted: Callable[[History], History]) -> History:
        """Set the models to the newest intact state, and return its history.

        Without one, or if the best weights so far are lost, training starts again. ``fitted``
        adapts the history of a shorter run to this one.
        """
        found = checkpoints.load_latest(self.work / "state")
        history = fitted(self._history_of(found))
        if found is None or not history.steps or not self._has_best(history):
            for name in ("state", "best"):
                remove(self.work / name)
            return History()
        for prefix, learner in self.learners.items():
            learner.load(found.tensors, prefix)
        self.saved = found.step
        return history

    def _history_of(self, found: Checkpoint | None) -> History:
        """The history of a state; empty if it has another version's form."""
        try:
            return History() if found is None else History.model_validate(found.state)
        except ValidationError:
            log.warning("%s holds no history of steps: starting again", self.work / "state")
            return History()

    def keep_best(self, step: int, weights: dict[str, Tensor]) -> None:
        checkpoints.save(self.work / "best", Checkpoint(step, weights, {}))

    def best_weights(self, history: History) -> dict[str, Tensor]:
        assert history.best is not None
        return checkpoints.load_step(self.work / "best", history.best.step).tensors

    def _has_best(self, history: History) -> bool:
        """The weights of the best step so far are intact, if needed."""
        if history.best is None:
            return True
        try:
            self.best_weights(history)
        except checkpoints.DAMAGE as error:
            step = history.best.step
            if checkpoints.newest_step(self.work / "best") > history.last.step:
                return True  # a better one came later, and will come again
            log.warning("best checkpoint of step %s is damaged (%s): starting again", step, error)
            return False
        return True
