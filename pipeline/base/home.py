"""The checkout that keeps what others share: the runs of MLflow."""

from __future__ import annotations

from pathlib import Path

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
    # The link of a worktree names MAIN/.git/worktrees/NAME; a submodule has one too, to elsewhere.
    place = (root / text.removeprefix(_GIT_DIR)).resolve()
    if place.parts[-3:-1] != (".git", "worktrees"):
        return root
    main = place.parents[2]
    return main if (main / "dvc.yaml").is_file() else root
