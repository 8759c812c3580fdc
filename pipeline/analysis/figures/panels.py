"""What the figures share: panels of fixed size, colours for light and dark pages, legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.analysis.looks import training_name
from pipeline.analysis.seeds import Group

INK = "#727d88"
"""Of text and axes: 4.1 to 1 on white and 4.6 to 1 on the dark of a page."""

BASE, RULE = "#9aa5b1", "#e5484d"


def style() -> dict[Any, Any]:
    """The settings of matplotlib that every figure is drawn with."""
    return {
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
        **dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), INK),
        "font.size": 9,
        "axes.titlesize": 10,
        "grid.alpha": 0.3,
        "legend.frameon": False,
    }


# Mid-tones, in an order in which neighbours differ, also for those who see red and green alike.
_COLOURS = (
    *("#2f81f7", "#e0823d", "#2da44e", "#bf5af2", "#d4a72c"),
    *("#0fa3b1", "#db61a2", "#8c6d46", "#7a7f3f", "#6e7bd9"),
)
_STYLES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))

_LEFT, _RIGHT, _TOP, _BOTTOM = 0.65, 0.15, 0.35, 0.5
_LEGEND_ROW, _CHARACTER = 0.2, 0.075


def panels(
    titles: Sequence[str],
    columns: int,
    size: tuple[float, float],
    legend: Mapping[str, Artist] | None = None,
    *,
    left: float = _LEFT,
    bottom: float = _BOTTOM,
    **settings: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row, with the legend below all of them.

    Args:
        titles: The title of each panel.
        columns: Panels side by side, at most.
        size: Width and height of a panel's axes, in inches.
        legend: What to show by label.
        left: Inches beside each panel for its labels.
        bottom: Inches below each panel for its labels.
        settings: What every panel has, such as ``xlabel``; see ``Axes.set``.
    """
    legend, columns = legend or {}, min(columns, len(titles))
    rows = -(-len(titles) // columns)
    width, height = size
    across, down = left + width + _RIGHT, _TOP + height + bottom
    longest = max((len(label) for label in legend), default=0)
    beside = max(1, int(columns * across / (0.5 + _CHARACTER * longest)))
    below = _LEGEND_ROW * -(-len(legend) // beside) + (0.1 if legend else 0)
    figure = Figure(figsize=(columns * across, rows * down + below))
    whole_width, whole_height = figure.get_size_inches()
    axes = []
    for place, title in enumerate(titles):
        row, column = divmod(place, columns)
        corner = (
            (column * across + left) / whole_width,
            (below + (rows - 1 - row) * down + bottom) / whole_height,
        )
        axes.append(figure.add_axes((*corner, width / whole_width, height / whole_height)))
        axes[-1].set(title=title, **settings)
    if legend:
        figure.legend(
            list(legend.values()),
            list(legend),
            loc="lower left",
            bbox_to_anchor=(0.0, 0.0),
            ncols=min(beside, len(legend)),
            fontsize=8,
        )
    return figure, axes


def line_styles(labels: Iterable[str]) -> dict[str, Line2D]:
    """A line of its own colour, and beyond ten colours of its own style, for each label."""
    unique = dict.fromkeys(labels)
    return {
        label: Line2D(
            [],
            [],
            color=_COLOURS[place % len(_COLOURS)],
            linestyle=_STYLES[place // len(_COLOURS) % len(_STYLES)],
            linewidth=1.4,
        )
        for place, label in enumerate(unique)
    }


def by_model(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Groups of cells by the title of their model."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.cells[0].cell.title, []).append(group)
    return found


def training_of(group: Group) -> str:
    """How a group was trained: its label without its model."""
    return training_name(group.cells[0].cell)
