"""The checkout of a command, and the one that keeps shared MLflow runs."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.git import agrees, git

_GIT_DIR = "gitdir: "


def find_root(start: Path | None = None) -> Path:
    """The nearest folder upwards with ``dvc.yaml``; UserError if there is none."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file():
            return folder
    raise UserError(f"{here} is not inside a tomrl checkout (no dvc.yaml upwards); cd into one")


def home_of(root: Path) -> Path:
    """The checkout whose MLflow runs a checkout uses.

    For a git worktree it is the main one, for a DVC experiment under way (``dvc exp run --temp``
    and ``--queue`` run in a copy) the one that started it; any other has its own.
    """
    root = root.resolve()
    for folder in root.parents:
        if folder.parts[-3:] == (".dvc", "tmp", "exps"):
            return home_of(folder.parents[2])
    link = root / ".git"
    if not link.is_file():
        return root
    text = link.read_text(encoding="utf-8").strip()
    # The link of a worktree names MAIN/.git/worktrees/NAME, or that of a submodule's repository,
    # .../modules/SUBMODULE/worktrees/NAME; a submodule has a link, too, to elsewhere.
    place = (root / text.removeprefix(_GIT_DIR)).resolve()
    if place.parent.name != "worktrees":
        return root
    repository = place.parents[1]
    main = repository.parent
    if repository.name != ".git":
        if not agrees(repository, "config", "core.worktree"):
            return root  # a bare one, which has no checkout of its own
        main = (repository / git(repository, "config", "core.worktree").strip()).resolve()
    return main if (main / "dvc.yaml").is_file() else root
