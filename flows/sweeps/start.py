"""Making a sweep, or finding the one to resume."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from flows.driver.graph import changed_stages
from flows.sweeps.pin import pin
from flows.sweeps.record import Sweep, SweepFolder
from pipeline.base.errors import UserError
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study, study_files
from pipeline.formats.files import remove, write_text


def is_done(root: Path, study: str) -> bool:
    """A checkout has the study in use, and all of its results."""
    path = root / "params.yaml"
    text = params_text(find_study(root, study))
    in_use = path.is_file() and path.read_text(encoding="utf-8") == text
    return in_use and not changed_stages(root)


def begin(folder: SweepFolder, study: str, allow_edits: bool) -> Sweep:
    """The sweep to run: the unfinished one, or else a new one.

    A new one keeps copies of study and commit id, whatever is edited meanwhile.

    Raises:
        UserError: If the name is of another study's sweep, or on edits.
    """
    if folder.exists() and not (before := folder.sweep()).ended:
        if before.study != study:
            raise UserError(
                f"--name {folder.name}: a sweep of study {before.study} has this name and is not "
                f"done; resume it with: tomrl sweep --study {before.study} --name {folder.name}, "
                "or choose another name"
            )
        return before
    params = params_text(find_study(folder.home, study))
    pinned = pin(folder.home, study, allow_edits)
    remove(folder.path)
    folder.path.mkdir(parents=True)
    shutil.copy(study_files(folder.home)[study], folder.study_file)
    write_text(folder.params_file, params)
    began = datetime.now().astimezone().isoformat(timespec="seconds")
    sweep = Sweep(
        name=folder.name,
        study=study,
        commit=pinned.commit,
        edited=list(pinned.edited),
        began=began,
    )
    folder.write(sweep)
    return sweep


def ready(folder: SweepFolder, study: str, allow_edits: bool = False) -> bool:
    """Begin a sweep, or find the one to resume; False if the checkout has all results."""
    unfinished = folder.exists() and not folder.sweep().ended
    if not unfinished and is_done(folder.home, study):
        return False
    begin(folder, study, allow_edits)
    return True


def study_changed(folder: SweepFolder) -> bool:
    """A study differs by now from its sweep's copy."""
    file = study_files(folder.home).get(folder.sweep().study)
    return file is None or file.read_bytes() != folder.study_file.read_bytes()
