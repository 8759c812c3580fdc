"""Schedule of validation, checkpoints and learning rate."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.training import Train
from pipeline.train.contract import History


@dataclass(frozen=True)
class Schedule:
    """The schedule of a run; step 0 is its initial model.

    Attributes:
        first_rate: Learning rate of the first step.
        falls: Linear decay to zero after the last step.
    """

    total: int
    validate_every: int
    save_every: int
    first_rate: float
    falls: bool

    @classmethod
    def of(cls, recipe: Train, rows: int) -> Schedule:
        return cls(
            total=recipe.total_steps(rows),
            validate_every=recipe.validate_every,
            save_every=recipe.save_every,
            first_rate=recipe.learning_rate,
            falls=recipe.learning_rate_schedule == "linear",
        )

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, from 1."""
        return self.first_rate * (1 - (step - 1) / self.total if self.falls else 1)

    def validates(self, step: int) -> bool:
        return step % self.validate_every == 0 or step == self.total

    def saves(self, step: int) -> bool:
        return step % self.save_every == 0

    def keeps(self, last: int) -> list[int]:
        """The kept steps of a run up to ``last``."""
        return sorted({*range(self.save_every, last + 1, self.save_every), last} - {0})

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
