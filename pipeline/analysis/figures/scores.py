"""Figures of the answers: by belief order, and beside the rules that learn nothing."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.analysis.figures.panels import (
    BASE,
    RULE,
    by_model,
    line_styles,
    panels,
    training_of,
)
from pipeline.analysis.findings import accuracy_by_order as orders_of
from pipeline.analysis.results import Results
from pipeline.analysis.seeds import Group, groups

_PANELS = 3  # side by side
_BASE: dict[str, Artist] = {
    "base": Line2D([], [], color=BASE, marker="o", markersize=4, linestyle="--")
}
_BASE_DOT: dict[str, Artist] = {
    "base": Line2D([], [], color=BASE, marker="o", markersize=4, linestyle="")
}
_RULE: dict[str, Artist] = {
    "best rule": Line2D(
        [], [], color=RULE, marker="|", markersize=11, markeredgewidth=2, linestyle=""
    )
}
_ON_THE_EDGE: dict[str, Any] = {"clip_on": False, "zorder": 3}
"""Whole marks at 0 and 100 %, before the frame."""


def accuracy_by_order(results: Results) -> Figure | None:
    """Difficulty curves: accuracy by belief order, base beside trained, means over seeds.

    A panel for each model and each task; None where no task has several orders.
    """
    models = by_model(groups(results))
    shown = [
        (title, trained, task)
        for title, trained in models.items()
        for task in orders_of(results, results.base_of(trained[0].cells[0]))
    ]
    if not shown:
        return None
    looks = line_styles(map(training_of, groups(results)))
    titles = [f"{title}: {task}" for title, _, task in shown]
    settings: dict[str, Any] = {"xlabel": "belief order", "ylim": (0, 100)}
    figure, axes = panels(titles, _PANELS, (2.9, 2.2), {**_BASE, **looks}, **settings)
    for axis, (_, trained, task) in zip(axes, shown, strict=True):
        base = orders_of(results, results.base_of(trained[0].cells[0]))[task]
        names = sorted(base, key=int)
        _draw_orders(axis, names, [base[name] for name in names], BASE, "--")
        for group in trained:
            found = [orders_of(results, result)[task] for result in group.cells]
            accuracies = [fmean(each[name] for each in found) for name in names]
            look = looks[training_of(group)]
            _draw_orders(axis, names, accuracies, str(look.get_color()), look.get_linestyle())
        axis.title.set_fontsize(8)
        axis.grid()
    axes[0].set_ylabel("accuracy (%)")
    return figure


def _draw_orders(
    axis: Axes, names: list[str], accuracies: list[float], colour: str, style: Any
) -> None:
    shares = [100 * accuracy for accuracy in accuracies]
    axis.plot(names, shares, color=colour, linestyle=style, marker="o", markersize=3, linewidth=1.3)


def against_rules(results: Results) -> Figure | None:
    """Accuracy by column, a panel for each model, beside the best rule that learns nothing.

    None where no rule applies to any column, or nothing was trained.
    """
    rules = {
        name: column.baselines.best.accuracy
        for name, column in results.audit.columns.items()
        if column.baselines.best is not None
    }
    models = by_model(groups(results))
    columns = [name for name in results.params.suite.tasks if name in rules]
    if not columns or not models:
        return None
    looks = line_styles(map(training_of, groups(results)))
    dots = {
        name: Line2D([], [], color=look.get_color(), marker="o", markersize=4, linestyle="")
        for name, look in looks.items()
    }
    figure, axes = panels(
        [*models],
        2,
        (3.4, 0.25 * len(columns) + 0.3),
        legend={**_BASE_DOT, **dots, **_RULE},
        left=0.3 + 0.07 * max(map(len, columns)),
        xlabel="accuracy (%)",
        xlim=(0, 100),
        ylim=(len(columns) - 0.5, -0.5),
    )
    for axis, trained in zip(axes, models.values(), strict=True):
        _draw_columns(axis, results, trained, columns, dots)
        rows = range(len(columns))
        places = [100 * rules[name] for name in columns]
        axis.plot(places, rows, "|", color=RULE, markersize=11, markeredgewidth=2, **_ON_THE_EDGE)
        axis.set_yticks(rows, columns, fontsize=8)
        axis.grid()
    return figure


def _draw_columns(
    axis: Axes, results: Results, trained: list[Group], columns: list[str], dots: dict[str, Line2D]
) -> None:
    base = results.base_of(trained[0].cells[0]).tasks
    places = range(len(columns))
    for group in trained:
        shares = [100 * fmean(c.tasks[name].accuracy for c in group.cells) for name in columns]
        colour = dots[training_of(group)].get_color()
        axis.plot(shares, places, "o", color=colour, markersize=4, alpha=0.8, **_ON_THE_EDGE)
    shares = [100 * base[n].accuracy for n in columns]
    axis.plot(shares, places, "o", color=BASE, markersize=4, **_ON_THE_EDGE)
