"""Schedule of validation, probes, checkpoints and learning rate."""

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
    rows: int
    prompts_per_step: int
    validate_every: int
    save_every: int
    first_rate: float
    falls: bool

    @classmethod
    def of(cls, recipe: Train, rows: int) -> Schedule:
        return cls(
            total=recipe.total_steps(rows),
            rows=rows,
            prompts_per_step=recipe.prompts_per_step,
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

    def probes(self, step: int) -> bool:
        """A probe is due: on the base model, after every epoch, at the last step."""
        size = self.prompts_per_step
        ends_epoch = step * size // self.rows > (step - 1) * size // self.rows
        return step in (0, self.total) or ends_epoch

    def saves(self, step: int) -> bool:
        return step % self.save_every == 0

    def keeps(self, last: int) -> list[int]:
        """The kept steps of a run up to ``last``."""
        return sorted({*range(self.save_every, last + 1, self.save_every), last} - {0})

    def of_this_length(self, history: History) -> History:
        """A history that a run of this length can resume; empty if it is of a longer run.

        A shorter run validates and probes after its last step, where this one may go on.
        """
        if not history.steps or history.last.step > self.total:
            return History()
        last = history.last
        due = {"validation_accuracy": self.validates(last.step), "probe": self.probes(last.step)}
        metrics = {
            name: value
            for name, value in last.metrics.items()
            if due.get(name.partition("/")[0], True)
        }
        return history.adding(last.model_copy(update={"metrics": metrics}))
