"""When a run validates, saves and ends, and how its learning rate goes."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.training import Train
from pipeline.train.contract import History


@dataclass(frozen=True)
class Schedule:
    """When a run does what; step 0 is the model that it starts from.

    Attributes:
        total: Planned steps.
        validate_every: Steps between validations.
        save_every: Steps between checkpoints.
        first_rate: Learning rate of the first step.
        falls: Whether the learning rate falls in a line, to nothing after the last step.
    """

    total: int
    validate_every: int
    save_every: int
    first_rate: float
    falls: bool

    @classmethod
    def of(cls, recipe: Train, rows: int) -> Schedule:
        """The schedule of a recipe on so many prompts."""
        return cls(
            total=recipe.total_steps(rows),
            validate_every=recipe.validate_every,
            save_every=recipe.save_every,
            first_rate=recipe.learning_rate,
            falls=recipe.learning_rate_schedule == "linear",
        )

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, from 1 to the last."""
        return self.first_rate * (1 - (step - 1) / self.total if self.falls else 1)

    def validates(self, step: int) -> bool:
        """Whether a validation is due."""
        return step % self.validate_every == 0 or step == self.total

    def saves(self, step: int) -> bool:
        """Whether a checkpoint is due."""
        return step % self.save_every == 0

    def keeps(self, last: int) -> list[int]:
        """The steps of a run up to its last one whose weights are kept where all are asked for."""
        return sorted({*range(self.save_every, last + 1, self.save_every), last} - {0})

    def of_this_length(self, history: History) -> History:
        """A history as a run of this length has it; an empty one where it is of a longer run.

        A shorter run validates after its last step, where this one may go on.
        """
        if not history.steps or history.last.step > self.total:
            return History()
        last = history.last
        if self.validates(last.step):
            return history
        metrics = {n: value for n, value in last.metrics.items() if n != "validation_accuracy"}
        return history.adding(last.model_copy(update={"metrics": metrics}))
