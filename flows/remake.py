"""Reproducing results in a clone, to compare their bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from flows.driver.commands import Commands
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out, git
from pipeline.ops.driver.checkout import dvc_command
from pipeline.ops.mirror.server import URI_VARIABLE


def differing(root: Path, stages: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Run stages and their dependencies at the last commit, in a clone that shares nothing.

    Args:
        stages: DVC stages, or groups of them, of the committed study; empty for all.

    Returns:
        The outputs whose bytes differ from the committed ``dvc.lock``.

    Raises:
        UserError: If there is no commit, or a stage fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = _clone(root, Path(folder) / "checkout")
        before = _digests(copy)
        apart = ["env", f"--unset={URI_VARIABLE}"]  # the runs of the copy are nobody's results
        with Commands(copy) as commands:
            if commands.run([*apart, *dvc_command("repro", *stages)], say):
                raise UserError(f"{root}: results cannot be made again; the cause is said above")
        after = _digests(copy)
    return sorted(path for path in after if after[path] != before.get(path))


def _clone(root: Path, target: Path) -> Path:
    if not checked_out(root):
        raise UserError(
            f"{root} must be a git repository with a commit; make one with: git init && "
            'git add --all && git commit -m "As it is"'
        )
    git(root, "clone", "--quiet", str(root), str(target))
    if not (target / "dvc.yaml").is_file():
        raise UserError(f"{root}: its last commit has no dvc.yaml; commit it, and try again")
    return target


def _digests(root: Path) -> dict[str, str]:
    lock = root / "dvc.lock"
    stages = yaml.safe_load(lock.read_text("utf-8"))["stages"] if lock.is_file() else {}
    outputs = [each for stage in stages.values() for each in stage.get("outs", ())]
    return {each["path"]: each["md5"] for each in outputs}
