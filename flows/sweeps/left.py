"""What is left to do of a sweep, from what DVC says."""

from __future__ import annotations

from collections.abc import Collection

from flows.order import stages_of
from pipeline.config.params import AskedCell, Params, TrainedCell


def cells_left(params: Params, changed: Collection[str]) -> list[str]:
    """Return the cells that are not done, in the order in which to start them.

    Those that train come first, as they take longest; those that ask the model of another cell come
    last, and are left where that is.

    Args:
        params: The study.
        changed: The stages that ``dvc status`` names.
    """
    own = {key for key in params.cells if any(stage in changed for stage in stages_of(key))}
    asked = {key: cell.of for key, cell in params.cells.items() if isinstance(cell, AskedCell)}
    left = [key for key in params.cells if key in own or asked.get(key) in own]
    return sorted(left, key=lambda key: (key in asked, not _trains(params, key)))


def inputs_of(params: Params, key: str) -> list[str]:
    """Return what shared stages, and the cell whose model it asks, have made for a cell."""
    study, cell = params.study.name, params.cells[key]
    of = cell.of if isinstance(cell, AskedCell) else None
    asked = [f"runs/{study}/{of}/train", f"weights/{study}/{of}"] if of else []
    return [
        *("code", f"data/{study}", f"runs/{study}/base", f"weights/{study}/base/{cell.model}"),
        *asked,
    ]


def _trains(params: Params, key: str) -> bool:
    return isinstance(params.cells[key], TrainedCell)
