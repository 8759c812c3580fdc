"""The git worktree of a sweep, and restoring its results in the checkout."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from flows.driver.causes import cause
from flows.driver.commands import Commands
from flows.driver.record import checkout_owner
from flows.driver.work import RunFailed, run_dvc
from flows.sweeps.pin import same_inputs
from flows.sweeps.record import SweepFolder
from pipeline.base.errors import UserError
from pipeline.base.git import git
from pipeline.base.ownership import owned
from pipeline.formats.files import remove, write_text
from pipeline.ops.driver.checkout import ask_dvc, replace_params
from pipeline.ops.driver.mend import mend_dvc

_READY = "tree.ready"


def make_tree(folder: SweepFolder, commands: Commands) -> None:
    """Make the worktree with the checkout's cache and known results, unless it is intact."""
    home, tree, ready = folder.home, folder.tree, folder.path / _READY
    if ready.exists() and (tree / ".git").is_file():
        link_tree(home, tree)
        _share_cache(home, tree)
        return
    remove_tree(folder)
    sweep = folder.sweep()
    git(home, "worktree", "add", "--detach", str(tree), sweep.commit)
    shutil.copy(folder.params_file, tree / "params.yaml")
    shutil.copy(folder.study_file, tree / "studies" / f"{sweep.study}.yaml")
    _share_cache(home, tree)
    mend_dvc(home)
    known = home / "dvc.lock"
    write_text(folder.known, known.read_text(encoding="utf-8") if known.is_file() else "")
    shutil.copy(folder.known, tree / "dvc.lock")
    _check_out(folder, tree, commands)
    ready.touch()


def link_tree(home: Path, tree: Path) -> None:
    """Link a worktree with its checkout again, after a move or copy of both.

    git keeps both links as absolute paths: those of a copy lead to the original.
    """
    link = tree / ".git"
    common = (home / git(home, "rev-parse", "--git-common-dir").strip()).resolve()
    entry = common / "worktrees" / Path(link.read_text(encoding="utf-8").strip()).name
    if not entry.is_dir():
        raise UserError(f"{tree} is not a worktree of {home}; remove it, and run the sweep again")
    write_text(entry / "gitdir", f"{link.resolve()}\n")
    write_text(link, f"gitdir: {entry}\n")


def _share_cache(home: Path, tree: Path) -> None:
    """Have DVC use the checkout's cache in its worktree, by a relative path."""
    cache = (home / ask_dvc(home, "cache", "dir").strip()).resolve()
    if cache.is_relative_to(home.resolve()):
        cache = Path(os.path.relpath(cache, (tree / ".dvc").resolve()))
    write_text(tree / ".dvc" / "config.local", f"[cache]\n    dir = {cache}\n")


def remove_tree(folder: SweepFolder) -> None:
    (folder.path / _READY).unlink(missing_ok=True)
    with suppress(UserError):
        git(folder.home, "worktree", "remove", "--force", "--force", str(folder.tree))
    remove(folder.tree)
    git(folder.home, "worktree", "prune")


def restore(folder: SweepFolder, commands: Commands) -> None:
    """Restore a finished sweep's results in its checkout, record its end, remove its worktree.

    Raises:
        RunFailed: If DVC cannot restore them.
        UserError: If the checkout has other code by now, its files are in the way, or somebody
            edited its params.yaml.
    """
    home, sweep = folder.home, folder.sweep()
    with owned(checkout_owner(home), patience=float("inf")):
        if not same_inputs(home, sweep.commit):
            raise UserError(
                f"all cells of sweep {sweep.name} are done, but the code in {home} "
                f"differs from their commit {sweep.commit[:12]} and would run them again. Nothing "
                f"was changed there. To restore them: git checkout {sweep.commit[:12]} && tomrl "
                f"sweep --name {sweep.name}"
            )
        replace_params(home, folder.params_file.read_text(encoding="utf-8"))
        # Neither is in DVC's cache: logs are no output, and the small results belong to Git.
        for kept in (Path("logs") / sweep.study, Path("results") / sweep.study):
            if (folder.tree / kept).is_dir():
                shutil.copytree(folder.tree / kept, home / kept, dirs_exist_ok=True)
        _know(folder)
        _check_out(folder, home, commands)
        _repro(folder, commands)
    ended = datetime.now().astimezone().isoformat(timespec="seconds")
    folder.write(sweep.model_copy(update={"ended": ended}))
    remove_tree(folder)


def _know(folder: SweepFolder) -> None:
    """Copy DVC's knowledge from the worktree to the checkout, unless that has changed since.

    Otherwise each stage is found in the cache of runs, which takes seconds for each of hundreds.
    """
    mend_dvc(folder.home)
    known = folder.home / "dvc.lock"
    before = folder.known.read_bytes()
    if (known.read_bytes() if known.is_file() else b"") == before:
        write_text(known, (folder.tree / "dvc.lock").read_text(encoding="utf-8"))


def _check_out(folder: SweepFolder, where: Path, commands: Commands) -> None:
    """Check out known results from the cache; the rest is for ``dvc repro``."""
    arguments = ["checkout", "--quiet", "--force", "--allow-missing"]
    run_dvc(commands, arguments, folder.log("restore"), where, lambda _: None)


def _repro(folder: SweepFolder, commands: Commands) -> None:
    """Make the rest: the report, where the checkout has other results besides."""
    said: list[str] = []
    arguments, log = ["--wait-for-lock", "repro"], folder.log("restore")
    if run_dvc(commands, arguments, log, folder.home, said.append):
        raise RunFailed(f"{cause(said[-30:]).text}. All output is in {log}; run it again to go on")
