"""The checkout that a command works on: its folder, its studies, its DVC."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.git import git, is_repository
from pipeline.base.processes import ending_with_this
from pipeline.config.params_file import params_text, parse_params
from pipeline.config.study_files import find_study
from pipeline.formats.files import write_text


def find_root(start: Path | None = None) -> Path:
    """The nearest folder upwards that holds ``dvc.yaml``.

    Raises:
        UserError: If there is none.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file():
            return folder
    raise UserError(f"{here} is not inside a tomrl checkout (no dvc.yaml upwards); cd into one")


def use_study(root: Path, name: str) -> Path:
    """Write a study to ``params.yaml`` and return the file's path.

    Raises:
        UserError: If there is no such study, or the file could not be read back; then nothing is
            written.
    """
    target, text = root / "params.yaml", params_text(find_study(root, name))
    parse_params(target, text.encode())
    write_text(target, text)
    return target


def dvc_command(*arguments: str) -> list[str]:
    """The command that runs this environment's DVC until this process ends."""
    return ending_with_this("pipeline.ops.driver.dvc", *arguments)


def ask_dvc(root: Path, *arguments: str) -> str:
    """What a command of DVC prints.

    Raises:
        UserError: If it fails; with what DVC says.
    """
    try:
        Path.home()
    except RuntimeError:
        raise UserError(
            f"DVC asks for a home directory, and of user {os.getuid()} none is known; set HOME to "
            "a folder, as in: export HOME=/tmp"
        ) from None
    done = subprocess.run(
        dvc_command(*arguments),
        cwd=root,
        env=stage_environment(),
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    if done.returncode:
        if not is_repository(root):  # which DVC says, too, but not how to mend it
            git(root, "rev-parse")
        words = " ".join(word for word in arguments if not word.startswith("-"))
        raise UserError(f"dvc {words} failed in {root}:\n{done.stderr.strip()}")
    return done.stdout


def stage_environment(**extra: str) -> dict[str, str]:
    """An environment in which stage commands find this environment's Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", **extra}
