"""The checkout that keeps what others share: the runs of MLflow."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.git import agrees, git

_GIT_DIR = "gitdir: "


def home_of(root: Path) -> Path:
    """The checkout whose runs of MLflow a checkout uses.

    That of a git worktree is the main one, that of a DVC experiment under way (``dvc exp run
    --temp`` and ``--queue`` run in a copy) the one it was started in; any other is its own.
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
