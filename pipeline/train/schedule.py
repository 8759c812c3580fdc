"""Schedule of validation, checkpoints and learning rate."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.training import Train
from pipeline.train.contract import History


@dataclass(frozen=True)
class Schedule:
    """The schedule of a run of ``total`` steps; step 0 is its initial model."""

    recipe: Train
    total: int

    @classmethod
    def of(cls, recipe: Train, rows: int) -> Schedule:
        return cls(recipe, recipe.total_steps(rows))

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, from 1."""
        falls = self.recipe.learning_rate_schedule == "linear"
        return self.recipe.learning_rate * (1 - (step - 1) / self.total if falls else 1)

    def validates(self, step: int) -> bool:
        return step % self.recipe.validate_every == 0 or step == self.total

    def saves(self, step: int) -> bool:
        return step % self.recipe.save_every == 0

    def keeps(self, last: int) -> list[int]:
        """The kept steps of a run up to ``last``."""
        every = self.recipe.save_every
        return sorted({*range(every, last + 1, every), last} - {0})

    def of_this_length(self, history: History) -> History:
        """A history that a run of this length can resume; empty if it is of a longer run.

        A shorter run validates after its last step, where this one may go on.
        """
        if not history.steps or history.last.step > self.total:
            return History()
        last = history.last
        if self.validates(last.step):
            return history
        metrics = {n: value for n, value in last.metrics.items() if n != "validation_accuracy"}
        return history.adding(last.model_copy(update={"metrics": metrics}))
