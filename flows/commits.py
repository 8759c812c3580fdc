"""The commit of a deployment, compared with a worker's checkout."""

from __future__ import annotations

import re
from logging import Logger, LoggerAdapter
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.base.git import agrees, checked_out

_COMMIT = re.compile(r"[0-9a-f]{40}")  # `prefect deploy` alone gives other versions
_SHOWN = 12

Log = Logger | LoggerAdapter[Any]


def check_commit(root: Path, deployed: str | None, log: Log) -> None:
    """Warn if a checkout is ahead of its deployment, and refuse one that is behind.

    ``deployed`` is a commit, if `tomrl deploy` ran in a repository.
    """
    if deployed is None or not _COMMIT.fullmatch(deployed):
        return
    here = checked_out(root)
    if here in ("", deployed):
        return
    if not _has(root, deployed):
        raise UserError(
            f"the deployment was made from commit {deployed[:_SHOWN]}, which the worker's checkout "
            f"{root} at {here[:_SHOWN]} does not have: bring it there with `git pull` (in a "
            f"shallow clone, `git fetch --unshallow`) or `git checkout {deployed[:_SHOWN]}`, or "
            "deploy what is there with `tomrl deploy`"
        )
    log.warning(
        "%s has moved on from commit %s, which the deployment was made from, to %s, which runs; "
        "`tomrl deploy` there brings its form up to date",
        *(root, deployed[:_SHOWN], here[:_SHOWN]),
    )


def _has(root: Path, commit: str) -> bool:
    """A commit is the one checked out, or its ancestor."""
    known = agrees(root, "cat-file", "-e", commit)
    return known and agrees(root, "merge-base", "--is-ancestor", commit, "HEAD")
