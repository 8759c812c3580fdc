"""How cells look in the figures of the page: a colour for each training, a shape for each model."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.analysis.results import Results
from pipeline.config.params import AskedCell, Cell, Params, TrainedCell

COLOURS = 7
"""Colours of trainings; one more is that of models that were not trained."""

SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.4 3.4H-4.4z",
    "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 4.8L4.4-3.4H-4.4z",
)
"""Shapes of points as paths of SVG; ``report.js`` has as many kinds of lines."""


@dataclass(frozen=True)
class Looks:
    """How all cells of a study look.

    Attributes:
        trainings: Place of each training among the colours; the empty one is of untrained models.
        models: Place of each model, by title, among the shapes.
        cells: Both places of each cell.
    """

    trainings: dict[str, int]
    models: dict[str, int]
    cells: dict[str, tuple[int, int]]


def looks(results: Results) -> Looks:
    """How the cells of a study look; with many trainings or models, some look alike."""
    named = {
        key: (_training(results.params, result.cell), result.cell.title)
        for key, result in results.cells.items()
    }
    trained = dict.fromkeys(training for training, _ in named.values() if training)
    trainings = {"": COLOURS} | {name: place % COLOURS for place, name in enumerate(trained)}
    titles = dict.fromkeys(title for _, title in named.values())
    models = {title: place % len(SHAPES) for place, title in enumerate(titles)}
    places = {key: (trainings[name], models[title]) for key, (name, title) in named.items()}
    return Looks(trainings, models, places)


def _training(params: Params, cell: Cell) -> str:
    """How the model of a cell was trained; nothing of an untrained one."""
    own = params.cells[cell.of] if isinstance(cell, AskedCell) else cell
    return training_name(own) if isinstance(own, TrainedCell) else ""


def training_name(cell: TrainedCell) -> str:
    """How a cell was trained: the label of its group without its model."""
    return cell.group.removeprefix(f"{cell.model.removesuffix(f'-s{cell.seed}')}-")
