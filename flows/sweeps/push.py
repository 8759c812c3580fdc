"""Pushing a sweep's results to the remote of its checkout, if it has one."""

from __future__ import annotations

from pathlib import Path

from flows.driver.commands import Commands
from flows.driver.work import run_dvc
from flows.sweeps.record import SweepFolder
from pipeline.base.errors import TransientError
from pipeline.ops.driver.checkout import ask_dvc

PUSH = "dvc push --run-cache"


class NotPushed(TransientError):
    """Results are complete, but not pushed."""


def pushes(home: Path) -> list[str]:
    return [PUSH] if _has_remote(home) else []


def push_owed(folder: SweepFolder, commands: Commands) -> None:
    """Push what a sweep owes its remote, and record that; NotPushed if that fails."""
    if not (owed := folder.sweep().unpushed):
        return
    is_set, log = _has_remote(folder.home), folder.log("push")
    arguments = ["push", "--run-cache"]
    if is_set and not run_dvc(commands, arguments, log, folder.home, lambda _: None):
        folder.write(folder.sweep().model_copy(update={"unpushed": []}))
    else:
        why = f"{log} says why" if is_set else "set a default remote of DVC first"
        raise NotPushed(
            f"all cells are done and their results are in {folder.home}, but not all were pushed "
            f"({why}); push them with: {' && '.join(owed)}"
        )


def _has_remote(home: Path) -> bool:
    settings = ask_dvc(home, "config", "--list").splitlines()
    return any(line.startswith("core.remote=") for line in settings)
