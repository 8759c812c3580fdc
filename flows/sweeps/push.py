"""Bringing what a sweep has made to the remote of its checkout, if it has one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flows.commands import Commands
from flows.sweeps.record import SweepFolder
from flows.sweeps.work import Work
from pipeline.base.errors import TransientError
from pipeline.ops.driver.checkout import ask_dvc, dvc_command


class NotPushed(TransientError):
    """Results are all there, but not where others get them."""


PUSH = "dvc push --run-cache"


def pushes(home: Path) -> list[str]:
    """Return the commands that people type to bring results of a checkout to DVC's remote."""
    return [PUSH] if _has_remote(home) else []


def push_owed(folder: SweepFolder, run: Callable[[list[str]], int]) -> None:
    """Push what a sweep owes its remote, and note that nothing is owed any more.

    Args:
        folder: The sweep's.
        run: Runs a command, whose output goes to the sweep's log of pushes; returns its status.

    Raises:
        NotPushed: If something is owed still: the push failed, or the remote is set up no more.
    """
    if not (owed := folder.sweep().unpushed):
        return
    is_set = _has_remote(folder.home)
    if is_set and run(dvc_command("push", "--run-cache")) == 0:
        folder.write(folder.sweep().model_copy(update={"unpushed": []}))
    else:
        why = f"{folder.log('push')} says why" if is_set else "set a default remote of DVC first"
        raise NotPushed(
            f"all cells are done and their results are in {folder.home}, but not all were pushed "
            f"({why}); push them with: {' && '.join(owed)}"
        )


def push_rest(folder: SweepFolder) -> None:
    """Push what a sweep that has ended still owes.

    Raises:
        NotPushed: As :func:`push_owed` does.
    """
    with Commands(folder.home) as commands:
        push_owed(folder, Work(folder, commands).push)


def _has_remote(home: Path) -> bool:
    """Return whether DVC has a remote that it pushes to unless told otherwise."""
    settings = ask_dvc(home, "config", "--list").splitlines()
    return any(line.startswith("core.remote=") for line in settings)
