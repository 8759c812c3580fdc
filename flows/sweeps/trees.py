"""The git worktrees of a sweep: one for what cells share, and one for each cell."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from flows.sweeps.pin import git
from flows.sweeps.record import SweepFolder
from pipeline.base.errors import UserError
from pipeline.formats.files import link_or_copy, remove, write_text
from pipeline.ops.driver.checkout import ask_dvc

_READY = ".ready"


class Trees:
    """The worktrees of a sweep, all with the cache of the checkout they belong to.

    Args:
        folder: The sweep.
        commit: What they have.
    """

    def __init__(self, folder: SweepFolder, commit: str) -> None:
        self._folder, self._commit = folder, commit
        self._lock = Lock()  # git's administration of worktrees is for one at a time
        self._cache = (folder.home / ask_dvc(folder.home, "cache", "dir").strip()).resolve()

    def of(self, key: str) -> Path:
        """Return the worktree of a cell."""
        return self._folder.trees / "cells" / key

    def prepare(self, tree: Path, inputs: Sequence[str] = ()) -> bool:
        """Make a worktree, unless it is there and whole; return whether it was made.

        Args:
            tree: Its path.
            inputs: Files and folders that it takes from the shared worktree, which were made there.
        """
        ready = tree.with_name(f"{tree.name}{_READY}")
        if ready.exists() and (tree / ".git").is_file():
            return False
        self.remove(tree)
        with self._lock:
            git(self._folder.home, "worktree", "add", "--detach", str(tree), self._commit)
        shutil.copy(self._folder.params_file, tree / "params.yaml")
        study = f"{self._folder.sweep().study}.yaml"
        shutil.copy(self._folder.study_file, tree / "studies" / study)
        for name in inputs:
            _bring(self._folder.shared / name, tree / name)
        write_text(tree / ".dvc" / "config.local", f"[cache]\n    dir = {self._cache}\n")
        ready.touch()
        return True

    def remove(self, tree: Path) -> None:
        """Remove a worktree, or what there is of one."""
        tree.with_name(f"{tree.name}{_READY}").unlink(missing_ok=True)
        with self._lock:
            with suppress(UserError):
                git(self._folder.home, "worktree", "remove", "--force", "--force", str(tree))
            remove(tree)
            git(self._folder.home, "worktree", "prune")

    def remove_all(self) -> None:
        """Remove all of them."""
        for tree in [self._folder.shared, *sorted((self._folder.trees / "cells").glob("*/"))]:
            self.remove(tree)
        remove(self._folder.trees)


def _bring(source: Path, target: Path) -> None:
    """Have a file or folder in another worktree too, without a second copy if possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, copy_function=link_or_copy, dirs_exist_ok=True)
    else:
        link_or_copy(source, target)
