"""Pushing a sweep's results to the remote of its checkout, if it has one."""

from __future__ import annotations

from collections.abc import Callable

from flows.driver.commands import Commands
from flows.driver.work import run_dvc
from flows.sweeps.record import SweepFolder
from pipeline.base.errors import TransientError
from pipeline.ops.driver.checkout import ask_dvc

_PUSH = ("push", "--run-cache")


class NotPushed(TransientError):
    """Results are complete, but not pushed."""


def push(folder: SweepFolder, commands: Commands, say: Callable[[str], None]) -> None:
    """Push what DVC's default remote lacks of the checkout; NotPushed if that fails."""
    settings = ask_dvc(folder.home, "config", "--list").splitlines()
    if not any(line.startswith("core.remote=") for line in settings):
        say("pushing nothing: no remote is set up")
        return
    command, log = f"dvc {' '.join(_PUSH)}", folder.log("push")
    say(f"pushing with: {command}")
    if run_dvc(commands, [*_PUSH], log, folder.home, lambda _: None):
        raise NotPushed(
            f"all cells are done and their results are in {folder.home}, but not all were pushed "
            f"({log} says why); push them with: {command}"
        )
