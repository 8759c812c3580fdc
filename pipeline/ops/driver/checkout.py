"""The checkout that a command works on: its folder, its studies, its DVC."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.base.git import git, is_repository
from pipeline.base.home import find_root as find_root
from pipeline.base.processes import ending_with_this
from pipeline.base.variables import refused
from pipeline.config.expand import expand
from pipeline.config.own_model import with_model
from pipeline.config.params import Params
from pipeline.config.params_file import (
    is_as_written,
    params_text,
    parse_params,
    read_params,
    with_settings,
)
from pipeline.config.study_files import find_study, study_files
from pipeline.config.yaml_file import parse_yaml, read_bytes
from pipeline.formats.files import write_text
from pipeline.formats.nested import differing


def use_study(root: Path, name: str, model: Path | None = None) -> Path:
    """Write a study to ``params.yaml`` and return the file's path.

    Args:
        root: The checkout.
        name: The study.
        model: A folder or GGUF file of a model that takes the place of the study's.

    Raises:
        UserError: If there is no such study or model, the file could not be read back, or somebody
            edited the one that is there; then nothing is written.
    """
    study = find_study(root, name)
    study = study if model is None else with_model(study, root, model)
    target, text = root / "params.yaml", params_text(study)
    parse_params(target, text.encode())
    replace_params(root, text)
    return target


def replace_params(root: Path, text: str) -> None:
    """Write ``params.yaml``, unless that would lose what somebody edited in it.

    Raises:
        UserError: If it would; names what was edited.
    """
    target = root / "params.yaml"
    if target.is_file() and target.read_text(encoding="utf-8") != text:
        there = target.read_bytes()
        if not is_as_written(target, there) and (edits := _edits(root, target, there)):
            raise UserError(
                f"{target} was edited since it was written: {edits}. To keep that, put it into the "
                "study's file, or run it as it is with `tomrl run`; to drop it: rm params.yaml"
            )
    write_text(target, text)


def _edits(root: Path, path: Path, data: bytes) -> str:
    """What a ``params.yaml`` says otherwise than its study's file; "" where that is nothing."""
    found: Any = parse_yaml(path, data).content
    name = found.get("name") if isinstance(found, dict) else None
    if name not in study_files(root):
        return f"it holds study {name!r}, which is not in studies/"
    study: Any = parse_yaml(path, params_text(find_study(root, name)).encode()).content
    edits = differing(found, study)
    shown = [f"{key} is {ours!r} (study {name}: {its!r})" for key, (ours, its) in edits.items()]
    return "; ".join(shown[:3]) + (f"; and {len(shown) - 3} more" if shown[3:] else "")


def set_values(root: Path, settings: Sequence[str]) -> None:
    """Give values of ``params.yaml`` that hold for all cells, as ``KEY=VALUE``.

    Raises:
        UserError: If a value could not be read back; then nothing is written.
    """
    target = root / "params.yaml"
    write_text(target, with_settings(target, read_bytes(target), settings))


def params_of(root: Path, study: str | None) -> Params:
    """The parameters of a study as its file has it; of ``params.yaml`` where none is named."""
    return read_params(root / "params.yaml") if study is None else expand(find_study(root, study))


def params_of_results(root: Path, study: str | None) -> Params:
    """Those of ``params.yaml`` for the study in use or none, as the results here have them."""
    params = read_params(root / "params.yaml")
    return params if study in (None, params.study.name) else params_of(root, study)


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
            f"DVC needs a home directory, and user {os.getuid()} has none; set HOME to a folder, "
            "as in: export HOME=/tmp"
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
        if not is_repository(root):  # which DVC says, too, but not how to fix it
            git(root, "rev-parse")
        if why := refused("DVC", "DVC_", _said(done.stderr).splitlines()[0]):
            raise why
        words = " ".join(word for word in arguments if not word.startswith("-"))
        raise UserError(f"dvc {words} failed in {root}:\n{_said(done.stderr)}")
    return done.stdout


def _said(output: str) -> str:
    """What DVC says of a failure: all of it, or the last line of a traceback."""
    text = output.strip() or "it said nothing"
    return text.splitlines()[-1] if "Traceback (most recent call last)" in text else text


def stage_environment(**extra: str) -> dict[str, str]:
    """An environment in which stage commands find this environment's Python.

    Threads of OpenMP that wait for each other soon go to sleep, unless the user has said otherwise.
    By default they spin, and beside other work each takes the core that another of them waits for;
    those that never spin wake up too late. 1,000 is what libgomp takes for more threads than cores.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ours = {"PATH": path, "PYTHONUNBUFFERED": "1"}
    waits = {} if "OMP_WAIT_POLICY" in os.environ else {"GOMP_SPINCOUNT": "1000"}
    return {**waits, **os.environ, **ours, **extra}
