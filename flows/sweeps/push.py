"""Bringing what a sweep has made to the remotes of its checkout, where it has any."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from flows.commands import Commands
from flows.sweeps.record import SweepFolder
from flows.sweeps.work import Work
from pipeline.base.errors import TransientError
from pipeline.base.processes import ending_with_this
from pipeline.ops.driver.checkout import ask_dvc, dvc_command
from pipeline.ops.store.remote import REMOTE_VARIABLE


class NotPushed(TransientError):
    """Results are all there, but not where others get them."""


RESULTS = "dvc push --run-cache"
WEIGHTS = "tomrl store push"
_NEEDS = {RESULTS: "a default remote of DVC", WEIGHTS: REMOTE_VARIABLE}


def pushes(home: Path) -> dict[str, list[str]]:
    """Return the commands that bring results of a checkout to its remotes, by what people type.

    DVC has its default remote; weights go where ``TOMRL_STORE_REMOTE`` says.
    """
    found = {}
    if _has_remote(home):
        found[RESULTS] = dvc_command("push", "--run-cache")
    if os.environ.get(REMOTE_VARIABLE):
        found[WEIGHTS] = ending_with_this("pipeline.cli.app", "store", "push")
    return found


def push_owed(folder: SweepFolder, run: Callable[[list[str]], int]) -> None:
    """Run what a sweep owes its remotes, and note what is owed no more.

    Args:
        folder: The sweep's.
        run: Runs a command, whose output goes to the sweep's log of pushes; returns its status.

    Raises:
        NotPushed: If something is owed still: a command failed, or its remote is set up no more.
    """
    commands = pushes(folder.home)
    for typed in folder.sweep().unpushed:
        if typed in commands and run(commands[typed]) == 0:
            owed = [each for each in folder.sweep().unpushed if each != typed]
            folder.write(folder.sweep().model_copy(update={"unpushed": owed}))
    if owed := folder.sweep().unpushed:
        absent = [f"set {_NEEDS[typed]} first" for typed in owed if typed not in commands]
        why = "; ".join(absent) or f"{folder.log('push')} says why"
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
