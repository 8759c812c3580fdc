"""The commit that a sweep is made from."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.git import HEAD, git

_MADE = frozenset({"params.yaml", "dvc.lock"})  # by this program, of whatever study is in use
_READ = ("dvc.yaml", "pipeline/", "models/", "studies/records/")
"""Where the stages' code and inputs lie, files that git does not know yet among them."""


@dataclass(frozen=True)
class Pin:
    """A commit, and the uncommitted files in it."""

    commit: str
    edited: tuple[str, ...]


def pin(root: Path, study: str, allow_edits: bool) -> Pin:
    """The commit of a checkout as it is.

    Uncommitted files, if allowed, become a commit of their own on no branch, available to every
    worktree. ``params.yaml``, ``dvc.lock`` and the study's file are ignored: a sweep has its own.

    Raises:
        UserError: On edits that are not allowed, without a commit, or below the repository's root.
    """
    head = _git(root, *HEAD)
    if inside := _git(root, "rev-parse", "--show-prefix"):
        raise UserError(
            f"{root} is the folder {inside} of a larger repository, and a worktree is one of all "
            "of it; use tomrl run, or give the folder a repository of its own"
        )
    edited = _edited(root, _MADE | {f"studies/{study}.yaml"})
    if not edited:
        return Pin(head, ())
    if not allow_edits:
        listing = ", ".join(edited[:5]) + (" and others" if len(edited) > 5 else "")
        raise UserError(
            f"{root} has edits that are not committed: {listing}. Commit or stash them, so that "
            "results can be traced to a commit, or record them as they are with: --allow-edits"
        )
    return Pin(_snapshot(root, head), edited)


def same_inputs(root: Path, commit: str) -> bool:
    """A checkout has the code and inputs of a commit, its edits included."""
    now = _snapshot(root, _git(root, "rev-parse", "HEAD"))
    return not _git(root, "diff", "--name-only", commit, now, "--", *_READ)


def _edited(root: Path, except_for: frozenset[str]) -> tuple[str, ...]:
    status = _git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    found = [(line[:2], line[3:]) for line in status.split("\0") if line]
    return tuple(
        name
        for mark, name in found
        if name not in except_for and (mark != "??" or name.startswith(_READ))
    )


def _snapshot(root: Path, parent: str) -> str:
    """A commit of the files as they are; branch and index stay."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        _git(root, "read-tree", parent, extra=index)
        _git(root, "add", "--all", extra=index)
        tree = _git(root, "write-tree", extra=index)
    author = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (
            ("NAME", "tomrl"),
            ("EMAIL", "tomrl@localhost"),
            ("DATE", "2000-01-01T00:00:00Z"),  # the same edits are the same commit
        )
    }
    return _git(root, "commit-tree", tree, "-p", parent, "-m", "Edits of a sweep", extra=author)


def _git(root: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
    return git(root, *arguments, extra=extra).strip("\n")
