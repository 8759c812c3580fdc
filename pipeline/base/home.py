"""The checkout that keeps what others share: artifacts and runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

_GIT_DIR = "gitdir: "


def home_of(root: Path) -> Path:
    """Return the checkout whose store and runs a checkout uses.

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
    # The link of a worktree names MAIN/.git/worktrees/NAME.
    place = Path(text.removeprefix(_GIT_DIR))
    main = (root / place).resolve().parents[2] if len(place.parts) > 3 else root
    return main if (main / "dvc.yaml").is_file() else root


def checkouts_of(home: Path) -> list[Path]:
    """Return the checkouts that share a home: itself, its worktrees, its experiments under way."""
    listed = subprocess.run(
        ["git", "worktree", "list", "--porcelain", "-z"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\0")
    worktrees = [Path(line.removeprefix("worktree ")) for line in listed if line[:9] == "worktree "]
    experiments = sorted((home / ".dvc" / "tmp" / "exps").glob("*/*/dvc.yaml"))
    found = [home, *worktrees, *(path.parent for path in experiments)]
    return [path for path in dict.fromkeys(found) if (path / "dvc.yaml").is_file()]
