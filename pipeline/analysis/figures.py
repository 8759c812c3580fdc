"""Figures of the report, as SVG text with the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from pipeline.analysis.findings import accuracy_by_order as orders_of
from pipeline.analysis.results import Results
from pipeline.svg import svg_text

_BASE, _TRAINED, _RULE = "#9aa5b1", "#1f6feb", "#d1242f"


def training_curves(results: Results) -> Figure:
    """Return reward, validation accuracy and response length by step, one line per cell."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 3)
    panels: list[tuple[str, str, float]] = [
        ("validation_accuracy", "validation accuracy (%)", 100),
        ("reward_mean", "mean reward", 1),
        ("length_mean", "mean response length (tokens)", 1),
    ]
    for axis, (name, label, scale) in zip(axes, panels, strict=True):
        for result in results.trained():
            points = [(r["step"], scale * r[name]) for r in result.curve if name in r]
            axis.plot(*zip(*points, strict=True), label=result.key, linewidth=1.4)
        axis.set_xlabel("step")
        axis.set_title(label, fontsize=10)
        axis.grid(alpha=0.25)
    axes[0].legend(fontsize=8)
    return figure


def accuracy_by_order(results: Results) -> Figure | None:
    """Return accuracy by belief order, base beside trained; None where no task has orders."""
    cells = [result for result in results.trained() if orders_of(result)]
    if not cells:
        return None
    figure = Figure(figsize=(max(4.0, 3.6 * len(cells)), 3.4), layout="constrained")
    axes = figure.subplots(1, len(cells), squeeze=False, sharey=True)[0]
    for axis, result in zip(axes, cells, strict=True):
        trained, base = orders_of(result), orders_of(results.base_of(result))
        orders = sorted(trained, key=int)
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
            [100 * trained[o] for o in orders],
            0.4,
            color=_TRAINED,
            label="after RL",
        )
        axis.set_xticks(list(places), [f"order {o}" for o in orders])
        axis.set_title(result.key, fontsize=10)
        axis.set_ylim(0, 100)
        axis.grid(axis="y", alpha=0.25)
    axes[0].set_ylabel("accuracy (%)")
    axes[0].legend(fontsize=8)
    return figure


def against_rules(results: Results) -> Figure:
    """Return accuracy by task and cell with the best rule that learns nothing as a red line."""
    rows = [row for row in results.rows() if row.rule is not None]
    figure = Figure(figsize=(8, 0.5 + 0.42 * max(2, len(rows))), layout="constrained")
    axis = figure.subplots()
    for place, row in enumerate(rows):
        axis.barh(place + 0.18, 100 * row.base, 0.34, color=_BASE, label="base")
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


FIGURES: dict[str, Callable[[Results], Figure | None]] = {
    "training-curves": training_curves,
    "accuracy-by-order": accuracy_by_order,
    "against-rules": against_rules,
}


def draw_all(results: Results) -> dict[str, str]:
    """Return every figure that applies, as SVG text by name."""
    drawn = {name: draw(results) for name, draw in FIGURES.items()}
    return {name: svg_text(figure) for name, figure in drawn.items() if figure is not None}
