"""``params/``: the parameters of a study as the stage ``expand`` writes them, and their readers.

Each stage instance depends on a file of its own, which holds what its result can come from. It
reads typed parameters from those beside it: ``shared.json`` has what cells have in common,
``cell.json`` a cell, ``report.json`` everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.config.lookup import lookup
from pipeline.config.params import AnyCell, Cell, Params
from pipeline.formats.files import read_json
from pipeline.formats.records import UNREADABLE, unreadable

FOLDER = "params"
SHARED, CELL, EVERYTHING = "shared.json", "cell.json", "report.json"
CELLS = "cells"
MADE_BY = "expand"

Reader = Callable[[Path, Sequence[str]], Params]
"""From the checkout and the arguments of a stage to its parameters."""
_cell: TypeAdapter[Cell] = TypeAdapter(AnyCell)


def shared(root: Path, _: Sequence[str] = ()) -> Params:
    """What all cells have in common, without any cell.

    Raises:
        UserError: If its file is missing or damaged; names the stage that makes it.
    """
    return _read(root / FOLDER / SHARED)


def everything(root: Path, _: Sequence[str] = ()) -> Params:
    """The whole study; raises as :func:`shared` does."""
    return _read(root / FOLDER / EVERYTHING)


def of_cell(root: Path, arguments: Sequence[str]) -> Params:
    """What all cells have in common, with the one cell that the arguments begin with.

    Raises:
        UserError: As :func:`shared` does, or if there is no such cell; lists those there are.
    """
    params, (key, *_) = shared(root), arguments
    folder = root / FOLDER / CELLS
    there = {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    path = lookup(there, key, f"params.yaml (study {params.study.name}): cell") / CELL
    try:
        return params.model_copy(update={"cells": {key: _cell.validate_python(read_json(path))}})
    except UNREADABLE as error:
        raise unreadable(path, error, MADE_BY) from None


def _read(path: Path) -> Params:
    try:
        return Params.model_validate(read_json(path))
    except UNREADABLE as error:
        raise unreadable(path, error, MADE_BY) from None
