"""Going on from resumable state: of an interrupted run, of a shorter one, of a named folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import is_owned
from pipeline.formats.files import discard, read_json, remove, replacing, write_json
from pipeline.formats.nested import differing
from pipeline.formats.records import UNREADABLE, Record

MADE_FROM, OF = "made_from.json", "of.json"


class StateOf(Record):
    """``of.json``: what a folder of resumable state belongs to.

    Attributes:
        study: The study.
        cell: The cell.
        finished: Planned steps of the run that ended here; None while it is under way.
    """

    study: str
    cell: str
    finished: int | None = None


def leave(work: Path, own: StateOf, steps: int | None) -> None:
    """Keep the newest state of a finished run, and nothing of other runs of its cell.

    Args:
        work: Folder of the resumable state.
        own: What it belongs to.
        steps: Planned steps of the run; None where a longer one cannot go on from it: it goes.
    """
    for folder in (path.parent for path in work.parent.glob(f"*/{OF}")):
        found = _found(folder)
        same = found is not None and (found.study, found.cell) == (own.study, own.cell)
        if same and folder != work and not is_owned(folder):
            discard(folder)
    if steps is None:
        discard(work)
        return
    own.model_copy(update={"finished": steps}).write(work / OF)
    for older in sorted((work / "state").glob("step-*"))[:-1]:
        discard(older)


def _found(work: Path) -> StateOf | None:
    """What a folder says that it belongs to; None where that cannot be read."""
    try:
        return StateOf.model_validate(read_json(work / OF))
    except UNREADABLE:
        return None


def read_options(arguments: Sequence[str]) -> Path | None:
    """The folder that ``--resume`` names, if it is there."""
    match arguments:
        case []:
            return None
        case ["--resume", folder]:
            return Path(folder)
    raise UserError(
        f"found the arguments {' '.join(map(repr, arguments))} after the cell; allowed: --resume "
        "FOLDER, to go on from that state, such as a copy of work/DIGEST of another machine"
    )


def begin(
    work: Path, own: StateOf, total: int, made_from: Mapping[str, object], resume: Path | None
) -> None:
    """Note what a run and its state belong to; with ``resume``, take that state over first.

    Of a finished run only a longer one goes on.

    Args:
        work: Folder of the run's resumable state.
        own: What it belongs to.
        total: Planned steps.
        made_from: Everything the run's result depends on.
        resume: A folder to go on from.

    Raises:
        UserError: If there is no state in ``resume``, or one of another run; names what differs.
    """
    if resume is not None:
        _check(resume, made_from)
        if resume.resolve() != work.resolve():
            remove(work)
            with replacing(work) as temporary:
                shutil.copytree(resume, temporary)
    before = _found(work)
    if before is not None and before.finished is not None and before.finished >= total:
        discard(work)
    own.write(work / OF)
    write_json(work / MADE_FROM, made_from)


def _check(resume: Path, made_from: Mapping[str, object]) -> None:
    path = resume / MADE_FROM
    if not path.is_file():
        raise UserError(
            f"--resume {resume}: found no {MADE_FROM} there; allowed: a folder that training left "
            "in work/"
        )
    changed = [
        f"{name} was {before}, is {now}"
        for name, (before, now) in sorted(differing(_noted(path), made_from).items())
    ]
    if changed:
        raise UserError(
            f"--resume {resume}: made with other parameters or inputs: {'; '.join(changed)}. "
            "Restore them, or leave --resume out to start fresh"
        )


def _noted(path: Path) -> dict[str, object]:
    try:
        found = read_json(path)
    except UNREADABLE:
        found = None
    if not isinstance(found, dict):
        raise UserError(
            f"--resume: {path} is damaged, and it alone says what the state "
            "beside it was made from. Leave --resume out to start fresh"
        )
    return found
