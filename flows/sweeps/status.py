"""How sweeps stand, read from their files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from flows.sweeps.progress import told
from flows.sweeps.record import CellState, Sweep, SweepFolder
from pipeline.base.ownership import is_owned


@dataclass(frozen=True)
class SweepStanding:
    """How a sweep stands.

    Attributes:
        sweep: The sweep.
        under_way: Whether a process runs it now.
        cells: Its cells, in the order of the study.
    """

    sweep: Sweep
    under_way: bool
    cells: Mapping[str, CellState]

    def summary(self) -> str:
        """Return one line on all of it."""
        if self.sweep.ended:
            owed = " && ".join(self.sweep.unpushed)
            return f"done at {self.sweep.ended}{f', not yet pushed: {owed}' if owed else ''}"
        counts = Counter(state.state for state in self.cells.values())
        listing = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        return f"{'under way' if self.under_way else 'not running'}: {listing}"

    def as_json(self) -> dict[str, object]:
        """Return it for machines."""
        cells = {key: state.model_dump(mode="json") for key, state in self.cells.items()}
        return {**self.sweep.model_dump(mode="json"), "under_way": self.under_way, "cells": cells}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return the texts of each cell: key, state, attempts, how far it is or why it failed."""
        return [
            (key, state.state, str(state.attempts), told(state))
            for key, state in self.cells.items()
        ]


def standing(folder: SweepFolder) -> SweepStanding:
    """Return how a sweep stands.

    A cell that ran when its sweep was killed is stopped.

    Raises:
        UserError: If there is no such sweep.
    """
    sweep, under_way = folder.sweep(), is_owned(folder.path)
    cells = {key: folder.cell(key) for key in folder.params().cells}
    return SweepStanding(sweep, under_way, {key: _seen(s, under_way) for key, s in cells.items()})


def _seen(state: CellState, under_way: bool) -> CellState:
    if state.state != "running" or under_way:
        return state
    return state.model_copy(update={"state": "stopped", "cause": "its sweep was killed"})
