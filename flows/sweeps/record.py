"""What a sweep keeps in files, so that it outlives whatever happens to its process."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.formats.records import Record

State = Literal["waiting", "running", "done", "failed", "stopped"]
SWEEPS = Path("work") / "sweeps"


class Sweep(Record):
    """What a sweep is made from, which stays the same, and how it has ended.

    Attributes:
        name: Its name, which is that of its folder.
        study: The study that it runs, of which it keeps a copy.
        commit: The commit that its worktrees have.
        edited: What was not committed as it began; then the commit is one of these edits.
        began: When, in ISO 8601.
        ended: When all of it was done; empty before.
        unpushed: Commands that are still to bring its results to a remote, once it has ended.
    """

    name: str
    study: str
    commit: str
    edited: list[str]
    began: str
    ended: str = ""
    unpushed: list[str] = Field(default_factory=list)


class CellState(Record):
    """How far a cell is.

    Attributes:
        state: ``running`` also after a kill; only a sweep under way has running cells.
        attempts: How often it was started.
        stage: The stage it is in, or was in last.
        step: Steps of that stage that are done.
        steps: Steps of that stage.
        note: What the stage says of the last step, such as its reward.
        remaining: Seconds that the stage will take on, if that can be told.
        cause: Why it failed.
        seconds: How long it has run, all attempts together.
    """

    state: State = "waiting"
    attempts: int = 0
    stage: str = ""
    step: int = 0
    steps: int = 0
    note: str = ""
    remaining: float | None = None
    cause: str = ""
    seconds: float = 0.0


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


@dataclass(frozen=True)
class SweepFolder:
    """The folder of a sweep.

    Attributes:
        home: The checkout that it belongs to.
        name: Its name.
    """

    home: Path
    name: str

    @property
    def path(self) -> Path:
        """Return the folder."""
        return self.home / SWEEPS / self.name

    @property
    def lock(self) -> Path:
        """Return the file in which the process that runs the sweep is named."""
        return self.path.with_name(f"{self.name}.lock")

    @property
    def study_file(self) -> Path:
        """Return the copy of the study."""
        return self.path / "study.yaml"

    @property
    def params_file(self) -> Path:
        """Return the expanded study."""
        return self.path / "params.yaml"

    @property
    def trees(self) -> Path:
        """Return the folder of its worktrees."""
        return self.path / "trees"

    @property
    def shared(self) -> Path:
        """Return the worktree where shared stages are made and results are gathered."""
        return self.trees / "shared"

    def log(self, key: str) -> Path:
        """Return the file of what a cell's stages say."""
        return self.path / "logs" / f"{key}.log"

    def exists(self) -> bool:
        """Return whether there is such a sweep; one that was killed in its making is not."""
        return self._file.is_file()

    def sweep(self) -> Sweep:
        """Read what the sweep is made from.

        Raises:
            UserError: If there is no such sweep; lists those there are.
        """
        if not self.exists():
            names = ", ".join(sweep_names(self.home)) or "none"
            raise UserError(
                f"there is no sweep {self.name!r} in {self.path.parent}; there are: {names}. Start "
                "one with: tomrl sweep --study STUDY"
            )
        return Sweep.read(self._file, "code")

    def write(self, sweep: Sweep) -> None:
        """Write what the sweep is made from."""
        sweep.write(self._file)

    def params(self) -> Params:
        """Read the expanded study."""
        return read_params(self.params_file)

    def cell(self, key: str) -> CellState:
        """Read how far a cell is."""
        path = self._cell_file(key)
        return CellState.read(path, f"train@{key}") if path.is_file() else CellState()

    def note(self, key: str, state: CellState) -> None:
        """Write how far a cell is."""
        state.write(self._cell_file(key))

    @property
    def _file(self) -> Path:
        return self.path / "sweep.json"

    def _cell_file(self, key: str) -> Path:
        return self.path / "cells" / f"{key}.json"


def sweep_names(home: Path) -> list[str]:
    """Return the names of a checkout's sweeps."""
    return sorted(path.parent.name for path in (home / SWEEPS).glob("*/sweep.json"))


def sweep_folder(home: Path, name: str) -> SweepFolder:
    """Return the folder of a sweep, which need not be there.

    Raises:
        UserError: If that is no name for a sweep.
    """
    if not _NAME.fullmatch(name):
        raise UserError(
            f"sweep {name!r}: a name has lower-case letters, digits and hyphens, up to 61 of them, "
            "a letter or digit first"
        )
    return SweepFolder(home, name)
