"""The state of a run's cells in files, which survive its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flows.driver.progress import CellState, told
from pipeline.base.ownership import is_owned
from pipeline.config.params import Params
from pipeline.config.params_file import read_params


@dataclass(frozen=True)
class RunFolder:
    """The files of a run.

    Attributes:
        name: The study, or the sweep.
        path: The folder of these files.
        tree: Working folder of the stages.
        owner: Owned by the process of the run.
        artifact: Name of the table of results on Prefect's server.
    """

    home: Path
    name: str
    path: Path
    tree: Path
    params_file: Path
    owner: Path
    artifact: str
    again: str

    @classmethod
    def here(cls, home: Path, study: str) -> RunFolder:
        """The last run of a study in a checkout."""
        path, params = home / "logs" / study / "run", home / "params.yaml"
        owner, artifact = checkout_owner(home), f"results-{study}"
        return cls(home, study, path, home, params, owner, artifact, "tomrl run")

    def params(self) -> Params:
        return read_params(self.params_file)

    def log(self, name: str) -> Path:
        """The log of a cell's stages, or of shared ones."""
        return self.path / "logs" / f"{name}.log"

    def cell(self, key: str) -> CellState:
        path = self._cell_file(key)
        return CellState.read(path, f"train@{key}") if path.is_file() else CellState()

    def note(self, key: str, state: CellState) -> None:
        state.write(self._cell_file(key))

    def note_done(self, keys: Iterable[str]) -> None:
        for key in keys:
            if (state := self.cell(key)).state != "done":
                update = {"state": "done", "cause": "", "remaining": None}
                self.note(key, state.model_copy(update=update))

    def failures(self) -> dict[str, str]:
        """Causes of failure by cell: ``STAGE: CAUSE``."""
        states = {key: self.cell(key) for key in self.params().cells}
        return {
            key: ": ".join(filter(None, (state.stage, state.cause)))
            for key, state in states.items()
            if state.state == "failed"
        }

    def _cell_file(self, key: str) -> Path:
        return self.path / "cells" / f"{key}.json"


def checkout_owner(home: Path) -> Path:
    """Owned by the process that changes the results of a checkout."""
    return home / "logs" / "checkout"


@dataclass(frozen=True)
class RunStanding:
    """Status of a run: whether a process runs it now, and the states of its cells."""

    name: str
    under_way: bool
    cells: Mapping[str, CellState]

    def summary(self) -> str:
        counts = Counter(state.state for state in self.cells.values())
        listing = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        return f"{'under way' if self.under_way else 'not running'}: {listing}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(key, state, attempts, progress or cause) of each cell."""
        return [
            (key, state.state, str(state.attempts), told(state))
            for key, state in self.cells.items()
        ]


def standing(folder: RunFolder) -> RunStanding:
    """The status of a run; a cell that was running when killed counts as stopped."""
    under_way = is_owned(folder.owner)
    cells = {key: folder.cell(key) for key in folder.params().cells}
    return RunStanding(folder.name, under_way, {k: _seen(s, under_way) for k, s in cells.items()})


def _seen(state: CellState, under_way: bool) -> CellState:
    if state.state != "running" or under_way:
        return state
    return state.model_copy(update={"state": "stopped", "cause": "its sweep was killed"})
