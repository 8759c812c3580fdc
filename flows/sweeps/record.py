"""The files of a sweep, which survive its process."""

from __future__ import annotations

import re
from pathlib import Path

from flows.driver.record import RunFolder
from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.formats.records import Record

SWEEPS = Path("work") / "sweeps"


class Sweep(Record):
    """Inputs and end of a sweep.

    Attributes:
        commit: The commit of its worktree.
        edited: Uncommitted files at its beginning; then the commit consists of these edits.
        ended: In ISO 8601; empty before.
    """

    name: str
    study: str
    commit: str
    edited: list[str]
    began: str
    ended: str = ""


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


class SweepFolder(RunFolder):
    """The files of a sweep, whose stages run in a worktree of its own."""

    def __init__(self, home: Path, name: str) -> None:
        path = home / SWEEPS / name
        again = f"tomrl sweep --name {name}"
        params = path / "params.yaml"
        super().__init__(home, name, path, path / "tree", params, path, f"sweep-{name}", again)

    @property
    def study_file(self) -> Path:
        return self.path / "study.yaml"

    @property
    def known(self) -> Path:
        """DVC's knowledge in the checkout when the worktree was made."""
        return self.path / "dvc.lock"

    def exists(self) -> bool:
        """There is such a sweep; one killed in its making does not count."""
        return self._file.is_file()

    def sweep(self) -> Sweep:
        """Read the sweep's record; UserError if there is none."""
        if not self.exists():
            names = ", ".join(sweep_names(self.home)) or "none"
            raise UserError(
                f"there is no sweep {self.name!r} in {self.path.parent}; there are: {names}. Start "
                "one with: tomrl sweep --study STUDY"
            )
        return Sweep.read(self._file, "code")

    def write(self, sweep: Sweep) -> None:
        sweep.write(self._file)

    @property
    def _file(self) -> Path:
        return self.path / "sweep.json"


def sweep_names(home: Path) -> list[str]:
    return sorted(path.parent.name for path in (home / SWEEPS).glob("*/sweep.json"))


def unfinished(home: Path, params: Params) -> list[SweepFolder]:
    folders = [SweepFolder(home, name) for name in sweep_names(home)]
    return [each for each in folders if not each.sweep().ended and each.params() == params]


def sweep_folder(home: Path, name: str) -> SweepFolder:
    """The folder of a sweep, which need not exist; UserError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"sweep {name!r}: a name has lower-case letters, digits and hyphens, up to 61 of them, "
            "a letter or digit first"
        )
    return SweepFolder(home, name)
