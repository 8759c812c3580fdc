"""Going on from resumable state: of an interrupted run, of a shorter one, of a named folder."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import is_owned
from pipeline.formats.files import discard, read_json, remove, replacing, write_json
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


def what_is_left(work: Path) -> str:
    """What a folder of resumable state holds, in words."""
    found = _found(work)
    if found is None or found.finished is None:
        return "interrupted work"
    return f"state of {found.study}/{found.cell}, which more steps go on from"


def _found(work: Path) -> StateOf | None:
    """What a folder says that it belongs to; None where that cannot be read."""
    try:
        return StateOf.model_validate(read_json(work / OF))
    except UNREADABLE:
        return None


def read_options(arguments: Sequence[str]) -> Path | None:
    """The folder that ``--resume`` names, if it is there."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.stages.train CELL",
        description="Train a cell. It goes on by itself from its own state in work/; a changed "
        "parameter or input starts fresh.",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FOLDER",
        help="go on from this state instead, such as a copy of work/DIGEST of another machine; "
        "refused if it was made with other parameters or inputs",
    )
    found: Path | None = parser.parse_args(list(arguments)).resume
    return found


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
    before, now = dict(_flat(_noted(path))), dict(_flat(made_from))
    changed = [
        f"{name} was {before.get(name, 'absent')}, is {now.get(name, 'absent')}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
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


def _flat(content: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
