"""Bringing what a sweep has made to the remotes of its checkout, where it has any."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from flows.sweeps.record import SweepFolder
from pipeline.checkout import ask_dvc, dvc_command
from pipeline.errors import TransientError, UserError
from pipeline.processes import ending_with_this
from pipeline.store_remote import REMOTE_VARIABLE


class NotPushed(TransientError):
    """Results are all there, but not where others get them."""


RESULTS = "dvc push --run-cache"
WEIGHTS = "tomrl store push"


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


def push_all(folder: SweepFolder, run: Callable[[list[str]], int]) -> None:
    """Bring all results to the remotes of the checkout, and note what did not get there.

    Args:
        folder: The sweep's.
        run: Runs a command, whose output goes to the sweep's log of pushes; returns its status.

    Raises:
        NotPushed: If a command fails.
    """
    failed = [typed for typed, command in pushes(folder.home).items() if run(command)]
    folder.write(folder.sweep().model_copy(update={"unpushed": tuple(failed)}))
    if failed:
        raise NotPushed(
            f"all cells are done and their results are in {folder.home}, but not all were pushed "
            f"({folder.log('push')} says why); push them with: {' && '.join(failed)}"
        )


def push_what_failed(folder: SweepFolder) -> bool:
    """Push again what could not be pushed as a sweep ended; return whether there was anything.

    Raises:
        NotPushed: If it fails again.
    """
    if not folder.exists() or not folder.sweep().unpushed:
        return False

    def run(command: list[str]) -> int:
        with folder.log("push").open("ab") as log:
            done = subprocess.run(
                command, cwd=folder.home, stdout=log, stderr=subprocess.STDOUT, check=False
            )
        return done.returncode

    push_all(folder, run)
    return True


def _has_remote(home: Path) -> bool:
    """Return whether DVC has a remote that it pushes to unless told otherwise."""
    try:
        return bool(ask_dvc(home, "config", "core.remote").strip())
    except UserError:  # it has no such setting
        return False
