"""Figures of training: what changes from step to step."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.analysis.along import CurvePoint, of_cell, points_of
from pipeline.analysis.figures.panels import by_model, line_styles, panels, training_of
from pipeline.analysis.results import Results
from pipeline.analysis.seeds import Group, SeedEstimate, groups

_POINTS = 150  # of a curve: a page cannot show more
_PANELS = 4  # side by side
_METRICS = (
    ("validation_accuracy", "validation accuracy (%)", 100.0),
    ("reward_mean", "mean reward", 1.0),
    ("loss", "loss of imitation (nats)", 1.0),
    ("length_mean", "mean response length (tokens)", 1.0),
)


def training_curves(results: Results) -> Figure:
    """Validation accuracy, reward, loss and response length by step, a row for each model.

    The loss is that of cells that imitate; of others it says nothing.
    One line for each cell; the seeds of one cell are one line, their mean, in its 95 % interval. Of
    longer curves so many steps are shown, evenly, as a page has room for.
    """
    found = groups(results)
    models, legend = by_model(found), line_styles(map(training_of, found))
    rows = max(1, len(models))
    measured = {name for group in found for name in _measured(group)}
    metrics = [each for each in _METRICS if each[0] in measured] or [*_METRICS[:1]]
    across = len(metrics)
    titles = [*(label for _, label, _ in metrics), *[""] * (across * (rows - 1))]
    figure, axes = panels(titles, across, (3.1, 2.3), legend=dict(legend))
    for row, (title, trained) in enumerate(models.items()):
        for axis, (name, _, scale) in zip(axes[row * across :], metrics, strict=False):
            for group in (each for each in trained if name in _measured(each)):
                _draw_curve(axis, group, name, scale, legend[training_of(group)])
            axis.grid()
        if len(models) > 1:
            axes[row * across].set_ylabel(title)
    for axis in axes[-across:] if models else ():
        axis.set_xlabel("step")
    return figure


def _measured(group: Group) -> set[str]:
    found = {name for result in group.cells for row in result.curve for name in row}
    imitates = not group.cells[0].cell.algorithm.samples
    return found - ({"length_mean"} if imitates else {"loss"})


def _draw_curve(axis: Axes, group: Group, name: str, scale: float, look: Line2D) -> None:
    curve = group.curve(name, _POINTS)
    steps = [step for step, _ in curve]
    style, colour = look.get_linestyle(), look.get_color()
    middle, low, high = (
        [scale * getattr(each, end) for _, each in curve] for end in ("mean", "low", "high")
    )
    axis.plot(steps, middle, color=colour, linestyle=style, linewidth=1.4)
    if len(group.cells) > 1:
        axis.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)


def along_the_training(results: Results) -> Figure | None:
    """Accuracy by step, a panel for each column; None where no steps were asked.

    A line for each cell, in its 95 % interval; the seeds of one cell are one line, their mean, in
    its interval over seeds.
    """
    curves = {
        (result.key, column): {point.step: point for point in points_of(asked)}
        for result in results.trained()
        for column, asked in of_cell(results, result).items()
    }
    found = [g for g in groups(results) if any(key == g.cells[0].key for key, _ in curves)]
    if not found:
        return None
    columns = list(dict.fromkeys(column for _, column in curves))
    names = {group.label: _named(group, found) for group in found}
    legend = line_styles(names.values())
    figure, axes = panels(columns, _PANELS, (2.6, 2.2), dict(legend), xlabel="step", ylim=(0, 100))
    for axis, column in zip(axes, columns, strict=True):
        for group in found:
            own = [curves[r.key, column] for r in group.cells if (r.key, column) in curves]
            if own:
                _draw_along(axis, own, legend[names[group.label]])
        axis.grid()
    axes[0].set_ylabel("accuracy (%)")
    return figure


def _named(group: Group, among: Sequence[Group]) -> str:
    """How a group was trained, with its model where there are several."""
    several = len({each.cells[0].cell.title for each in among}) > 1
    return f"{group.cells[0].cell.title}, {training_of(group)}" if several else training_of(group)


def _draw_along(axis: Axes, curves: Sequence[dict[int, CurvePoint]], look: Line2D) -> None:
    """Draw the curves of one group's seeds, by step, at the steps that all have."""
    steps = sorted(set.intersection(*map(set, curves)))
    if len(curves) == 1:
        bands = [(curves[0][step].accuracy, *curves[0][step].interval) for step in steps]
    else:
        means = [SeedEstimate.of([points[step].accuracy for points in curves]) for step in steps]
        bands = [(each.mean, max(0.0, each.low), min(1.0, each.high)) for each in means]
    middle, low, high = ([100 * end for end in ends] for ends in zip(*bands, strict=True))
    style, colour = look.get_linestyle(), look.get_color()
    axis.plot(steps, middle, linestyle=style, color=colour, linewidth=1.4, marker=".", markersize=3)
    axis.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
