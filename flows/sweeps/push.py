"""Bringing what a sweep has made to the remotes of its checkout, where it has any."""

from __future__ import annotations

import os
from pathlib import Path

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


def _has_remote(home: Path) -> bool:
    """Return whether DVC has a remote that it pushes to unless told otherwise."""
    try:
        return bool(ask_dvc(home, "config", "core.remote").strip())
    except UserError:  # it has no such setting
        return False
