"""Figures of squares: what training on one set of questions changes on every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pipeline.analysis.figures.panels import by_model, panels, training_of
from pipeline.analysis.looks import training_name
from pipeline.analysis.results import Results
from pipeline.analysis.seeds import Group, groups
from pipeline.config.params import TrainedCell

_SQUARE = (0.5, 0.3)  # inches
_CHARACTER = 0.075
_DARK, _LIGHT, _FRAME = "#10161d", "#ffffff", "#e3a008"
# From red over a mid-tone to blue; a square carries its own ink, whatever the page's colour.
_CHANGE = LinearSegmentedColormap.from_list("change", ["#b3261e", "#e6e8eb", "#1257b0"])


@dataclass(frozen=True)
class Grid:
    """Numbers in rows and columns.

    Attributes:
        title: What they are of.
        rows: Labels, downwards.
        columns: Labels, to the right.
        values: By row and column; None, or a word that says why, where there is none.
        framed: Places, by row and column, of what was trained.
    """

    title: str
    rows: list[str]
    columns: list[str]
    values: list[list[float | str | None]]
    framed: frozenset[tuple[int, int]] = frozenset()


def models_and_combinations(results: Results) -> Figure | None:
    """The mean change of each model by each training, on trained columns and on others.

    None where only one cell is to be trained.
    """
    found = {(g.cells[0].cell.title, training_of(g)): g for g in groups(results)}
    words = _words(results)
    if not found or len(found | words) < 2:
        return None
    models, trainings = ([*dict.fromkeys(names)] for names in zip(*found, *words, strict=True))
    grids = []
    for inside, title in ((True, "trained columns"), (False, "other columns")):
        values = [
            [
                _mean_change(results, found[place], inside) if place in found else words.get(place)
                for place in ((model, training) for training in trainings)
            ]
            for model in models
        ]
        grids.append(Grid(f"mean change on {title} (points)", models, trainings, values))
    return _draw(grids)


def _words(results: Results) -> dict[tuple[str, str], str]:
    """Why there is nothing of a model and training, where a partial report lacks cells."""
    cells = ((results.cells[key].cell, why) for key, why in results.missing().items())
    return {
        (cell.title, training_name(cell)): why.word
        for cell, why in cells
        if isinstance(cell, TrainedCell)
    }


def _mean_change(results: Results, group: Group, inside: bool) -> float | None:
    changes = [
        _change(results, group, name)
        for name in results.params.suite.tasks
        if results.is_trained(name, group.cells[0].cell) == inside
    ]
    return fmean(changes) if changes else None


def _change(results: Results, group: Group, column: str) -> float:
    """The change of accuracy in points, the mean over seeds."""
    return 100 * fmean(
        result.tasks[column].accuracy - results.base_of(result).tasks[column].accuracy
        for result in group.cells
    )


def transfer(results: Results) -> Figure | None:
    """What each training changes on each column, a grid for each model.

    None where only one cell was trained, or there is only one column.
    """
    found, columns = groups(results), [*results.params.suite.tasks]
    if len(found) < 2 or len(columns) < 2:
        return None
    grids = [
        Grid(
            f"{title}: change (points)",
            [training_of(group) for group in trained],
            columns,
            [[_change(results, group, name) for name in columns] for group in trained],
            _trained_squares(results, trained, columns),
        )
        for title, trained in by_model(found).items()
    ]
    return _draw(grids)


def _trained_squares(
    results: Results, trained: Sequence[Group], columns: Sequence[str]
) -> frozenset[tuple[int, int]]:
    return frozenset(
        (row, column)
        for row, group in enumerate(trained)
        for column, name in enumerate(columns)
        if results.is_trained(name, group.cells[0].cell)
    )


# --- drawing --------------------------------------------------------------------------------------


def _draw(grids: Sequence[Grid]) -> Figure:
    """Grids below each other, a number in every square."""
    rows = max(len(grid.rows) for grid in grids)
    columns = max(len(grid.columns) for grid in grids)
    left = max(len(label) for grid in grids for label in grid.rows)
    below = max(len(label) for grid in grids for label in grid.columns)
    figure, axes = panels(
        [""] * len(grids),
        1,
        (max(2.8, _SQUARE[0] * columns), _SQUARE[1] * rows),
        left=0.2 + _CHARACTER * left,
        bottom=0.25 + 0.7 * _CHARACTER * below,
    )
    known = [abs(v) for grid in grids for row in grid.values for v in row if isinstance(v, float)]
    most = max([10.0, *known])
    for axis, grid in zip(axes, grids, strict=True):
        _draw_grid(axis, grid, most)
    return figure


def _draw_grid(axis: Axes, grid: Grid, most: float) -> None:
    for row, values in enumerate(grid.values):
        for column, value in enumerate(values):
            if isinstance(value, str):
                axis.text(*(column + 0.5, row + 0.5, value), ha="center", va="center", fontsize=6)
            if not isinstance(value, float):
                continue
            colour = _CHANGE((value / most + 1) / 2)
            axis.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, linewidth=0))
            dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] > 0.55
            text = f"{round(value):+d}"
            ink = _DARK if dark else _LIGHT
            axis.text(
                column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=8
            )
    for row, column in sorted(grid.framed):
        frame = Rectangle((column + 0.04, row + 0.06), 0.92, 0.88, fill=False, edgecolor=_FRAME)
        frame.set_linewidth(1.8)
        axis.add_patch(frame)
    axis.set_xlim(0, len(grid.columns))
    axis.set_ylim(len(grid.rows), 0)
    places = [place + 0.5 for place in range(len(grid.columns))]
    axis.set_xticks(
        places, grid.columns, fontsize=8, rotation=40, ha="right", rotation_mode="anchor"
    )
    axis.set_yticks([place + 0.5 for place in range(len(grid.rows))], grid.rows, fontsize=8)
    axis.tick_params(length=0)
    axis.set_title(grid.title, loc="left")
    for side in axis.spines.values():
        side.set_visible(False)
