"""Running git on a checkout; failures become errors with advice."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pipeline.base.errors import UserError

OLDEST = (2, 18)
"""The oldest supported git, for ``status --no-renames``."""

HEAD = ("log", "-1", "--no-show-signature", "--format=%H")
"""Arguments for the current commit; ``rev-parse`` does not tell a damaged branch from one without
commits.
"""

_LONGEST = 120  # seconds
_HOOKS = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX"),
    *("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
    *("GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_NAMESPACE"),
)
"""Set where git calls this program, as in a hook: they name the caller's repository."""

_UNKNOWN_OPTION = 129
_OWNER = re.compile(r"dubious ownership|unsafe repository")
_NO_REPOSITORY = re.compile(r"not a git repository", re.IGNORECASE)
_NO_COMMIT = re.compile(r"does not have any commits yet")
_BARE = re.compile(r"must be run in a work tree")
_NEWER = re.compile(r"repository extension|git repo version")
_DAMAGED = re.compile(r"appears to be broken|bad object|object file|loose object|index file")


def git(root: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
    """The output of a git command.

    Raises:
        UserError: If git is missing, too old, or fails on this checkout; with advice.
    """
    done = _run(root, arguments, extra or {})
    if done.returncode:
        raise UserError(_why(root, arguments, done))
    return done.stdout


def agrees(root: Path, *arguments: str) -> bool:
    """True for status 0 of a git command, False for 1; raises as :func:`git`."""
    done = _run(root, arguments, {})
    if done.returncode not in (0, 1):
        raise UserError(_why(root, arguments, done))
    return done.returncode == 0


def is_repository(root: Path) -> bool:
    """A folder lies in a repository, even one that git cannot read."""
    return any(os.path.lexists(folder / ".git") for folder in (root, *root.resolve().parents))


def checked_out(root: Path) -> str:
    """The commit of a checkout; empty outside of a repository, and before its first commit."""
    if not is_repository(root):
        return ""
    done = _run(root, HEAD, {})
    if done.returncode and not _NO_COMMIT.search(done.stderr):
        raise UserError(_why(root, HEAD, done))
    return done.stdout.strip()


def version(root: Path) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)[.\d]*", git(root, "version"))
    return tuple(map(int, found.group().strip(".").split("."))) if found else ()


def _run(
    root: Path, arguments: tuple[str, ...], extra: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name not in _HOOKS}
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=root,
            env={**own, "LC_ALL": "C", **extra},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_LONGEST,
            check=False,
        )
    except FileNotFoundError:
        if not root.is_dir():
            raise UserError(f"{root}: there is no such folder") from None
        raise UserError(f"{root}: git is not installed; install it, or put it on PATH") from None
    except OSError as error:
        raise UserError(f"{root}: git cannot be started ({error.strerror}); fix PATH") from None
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{root}: git {arguments[0]} did not end within {_LONGEST} s; see whether the disk "
            "answers"
        ) from None


def _why(root: Path, arguments: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> str:
    said, place = done.stderr.strip(), shlex.quote(str(root.resolve()))
    if _OWNER.search(said):
        return (
            f"{root} belongs to another user, so that git says nothing of it; allow it with: "
            f"git config --global --add safe.directory {place}"
        )
    if _NO_REPOSITORY.search(said):
        return _no_repository(root, place)
    if _NO_COMMIT.search(said):
        return f'{root} has no commit; make one with: git add --all && git commit -m "As it is"'
    if _BARE.search(said):
        return (
            f"{root}: its repository says that it is bare, so that git looks at no files there; if "
            f"they are its checkout: git -C {place} config core.bare false"
        )
    if _NEWER.search(said):
        return f"{root} was made by a newer git ({' '.join(said.split())}); install that here"
    if _DAMAGED.search(said):
        return (
            f"{root}: its repository is damaged, as after a crash or on a full disk "
            f"({said.splitlines()[0]}); git fsck --full names what is lost; clone it again, or "
            "bring that from another clone"
        )
    if done.returncode == _UNKNOWN_OPTION or "is not a git command" in said:
        oldest = ".".join(map(str, OLDEST))
        return (
            f"git {arguments[0]} in {root}: this git does not know {' '.join(arguments)} "
            f"({said.splitlines()[0]}); install git {oldest} or newer"
        )
    return f"git {arguments[0]} failed in {root}: {said or f'status {done.returncode}'}"


def _no_repository(root: Path, place: str) -> str:
    if is_repository(root):
        return (
            f"{root}: its .git is damaged, or leads to a repository that is gone, as after a move; "
            "repair a worktree from its main checkout with `git worktree repair`, or clone it again"
        )
    if named := os.environ.get("GIT_DIR"):
        return (
            f"{root} has no .git, and GIT_DIR={named} is not looked at, as DVC does not either; "
            "clone it again, or have a file .git there say: gitdir: PATH"
        )
    return (
        f"{root} is not a git repository, as a downloaded archive is not; make it one "
        f'with: cd {place} && git init && git add --all && git commit -m "As downloaded"'
    )
