"""Figures of the report, as SVG text with the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.analysis.findings import accuracy_by_order as orders_of
from pipeline.analysis.probes import ProbePoint, probe_points
from pipeline.analysis.results import Results, TrainedResult
from pipeline.analysis.seeds import groups
from pipeline.svg import svg_text

_BASE, _TRAINED, _RULE = "#9aa5b1", "#1f6feb", "#d1242f"
_PANELS = 4  # side by side


def training_curves(results: Results) -> Figure:
    """Return reward, validation accuracy and response length by step.

    One line for each cell; the seeds of one cell are one line, their mean, in its 95 % interval.
    """
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 3)
    panels: list[tuple[str, str, float]] = [
        ("validation_accuracy", "validation accuracy (%)", 100),
        ("reward_mean", "mean reward", 1),
        ("length_mean", "mean response length (tokens)", 1),
    ]
    for axis, (name, label, scale) in zip(axes, panels, strict=True):
        for group in groups(results):
            curve = group.curve(name)
            steps = [step for step, _ in curve]
            (line,) = axis.plot(
                steps, [scale * e.mean for _, e in curve], label=group.label, linewidth=1.4
            )
            if len(group.cells) > 1:
                low = [scale * e.low for _, e in curve]
                high = [scale * e.high for _, e in curve]
                axis.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axis.set_xlabel("step")
        axis.set_title(label, fontsize=10)
        axis.grid(alpha=0.25)
    axes[0].legend(fontsize=8)
    return figure


def accuracy_by_order(results: Results) -> Figure | None:
    """Return accuracy by belief order, base beside trained, the mean over seeds.

    A panel for each group of cells and each task; None where no task has several orders.
    """
    shown = [
        (group, task)
        for group in groups(results)
        for task in orders_of(results, results.base_of(group.cells[0]))
    ]
    if not shown:
        return None
    figure, axes = _grid(len(shown), least=4.0, width=3.6, height=3.4)
    for axis, (group, task) in zip(axes, shown, strict=True):
        trained = [orders_of(results, result)[task] for result in group.cells]
        base = orders_of(results, results.base_of(group.cells[0]))[task]
        orders = sorted(base, key=int)
        places = range(len(orders))
        axis.bar(
            [p - 0.2 for p in places],
            [100 * base[o] for o in orders],
            0.4,
            color=_BASE,
            label="base",
        )
        axis.bar(
            [p + 0.2 for p in places],
            [100 * mean(found[o] for found in trained) for o in orders],
            0.4,
            color=_TRAINED,
            label="after RL",
        )
        axis.set_xticks(list(places), [f"order {o}" for o in orders])
        axis.set_title(f"{group.label}: {task}", fontsize=10)
        axis.set_ylim(0, 100)
        axis.grid(axis="y", alpha=0.25)
    axes[0].set_ylabel("accuracy (%)")
    axes[0].legend(fontsize=8)
    return figure


def against_rules(results: Results) -> Figure:
    """Return accuracy by task and cell with the best rule that learns nothing as a red line."""
    rows = [row for row in results.rows() if row.rule is not None and row.base is not None]
    figure = Figure(figsize=(8, 0.5 + 0.42 * max(2, len(rows))), layout="constrained")
    axis = figure.subplots()
    for place, row in enumerate(rows):
        axis.barh(place + 0.18, 100 * (row.base or 0), 0.34, color=_BASE, label="base")
        if row.trained is not None:
            axis.barh(place - 0.18, 100 * row.trained, 0.34, color=_TRAINED, label="after RL")
        rule = 100 * (row.rule or 0)
        axis.plot([rule, rule], [place - 0.4, place + 0.4], color=_RULE, label="best rule")
    axis.set_yticks(range(len(rows)), [f"{row.cell} · {row.task}" for row in rows], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("accuracy (%)")
    handles, labels = axis.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axis.legend(unique.values(), unique.keys(), fontsize=8, loc="lower right")
    return figure


def trained_and_other_columns(results: Results) -> Figure | None:
    """Return the probes by epoch, a panel for each combination; None where nothing was probed.

    Solid lines are columns that the combination trains on, dashed ones all others.
    """
    probed = {r.key: points for r in results.trained() if (points := probe_points(results, r))}
    panels: dict[str, list[TrainedResult]] = {}
    for result in results.trained():
        if result.key in probed:
            panels.setdefault(result.cell.combination, []).append(result)
    if not panels:
        return None
    figure, axes = _grid(len(panels), least=5.0, width=3.4, height=3.1)
    for axis, (combination, cells) in zip(axes, panels.items(), strict=True):
        for place, result in enumerate(cells):
            _draw_probes(axis, probed[result.key], result.key, f"C{place % 10}")
        axis.set_title(combination, fontsize=10)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("accuracy (%), mean over columns")
    return figure


def _grid(count: int, *, least: float, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``count`` panels, at least ``least`` inches wide, and its panels."""
    columns, rows = min(count, _PANELS), -(-count // _PANELS)
    figure = Figure(figsize=(max(least, width * columns), height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes[:count]


def _draw_probes(axis: Axes, points: list[ProbePoint], label: str, colour: str) -> None:
    for name, style, described in (("inside", "-", "trained"), ("outside", "--", "other")):
        found = [(p.epoch, 100 * getattr(p, name)) for p in points if getattr(p, name) is not None]
        if found:
            axis.plot(
                *zip(*found, strict=True),
                style,
                color=colour,
                label=f"{label}, {described}",
                marker=".",
                linewidth=1.4,
            )


FIGURES: dict[str, Callable[[Results], Figure | None]] = {
    "training-curves": training_curves,
    "trained-and-other-columns": trained_and_other_columns,
    "accuracy-by-order": accuracy_by_order,
    "against-rules": against_rules,
}


def draw_all(results: Results) -> dict[str, str]:
    """Return every figure that applies, as SVG text by name."""
    drawn = {name: draw(results) for name, draw in FIGURES.items()}
    return {name: svg_text(figure) for name, figure in drawn.items() if figure is not None}
