"""Bringing what a sweep has made to the remotes of its checkout, where it has any."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pipeline.checkout import dvc_command, stage_environment
from pipeline.errors import TransientError
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
    found = subprocess.run(
        dvc_command("config", "core.remote"),
        cwd=home,
        env=stage_environment(),
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    return found.returncode == 0
