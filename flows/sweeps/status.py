"""How sweeps stand, read from their files alone."""

from __future__ import annotations

from dataclasses import dataclass

from flows.driver.record import Standing, standing
from flows.sweeps.record import Sweep, SweepFolder


@dataclass(frozen=True)
class SweepStanding:
    """How a sweep stands.

    Attributes:
        sweep: The sweep.
        run: How its cells are.
    """

    sweep: Sweep
    run: Standing

    def summary(self) -> str:
        """One line on all of it."""
        if self.sweep.ended:
            owed = " && ".join(self.sweep.unpushed)
            return f"done at {self.sweep.ended}{f', not yet pushed: {owed}' if owed else ''}"
        return self.run.summary()

    def as_json(self) -> dict[str, object]:
        """The same for machines."""
        cells = {key: state.model_dump(mode="json") for key, state in self.run.cells.items()}
        sweep = self.sweep.model_dump(mode="json")
        return {**sweep, "under_way": self.run.under_way, "cells": cells}


def sweep_standing(folder: SweepFolder) -> SweepStanding:
    """Read how a sweep stands.

    Raises:
        UserError: If there is no such sweep.
    """
    return SweepStanding(folder.sweep(), standing(folder))
