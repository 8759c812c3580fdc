"""Accuracy against tokens: trained cells and prompt programs in the same plot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.analysis.figures.panels import BASE, line_styles, panels
from pipeline.analysis.results import Results
from pipeline.analysis.ways import PLAIN, ways


def accuracy_against_tokens(results: Results) -> Figure | None:
    """A panel for each model; squares are trained, dots are asked of the base model.

    None where the study names no prompt programs.
    """
    found = ways(results)
    if not found:
        return None
    colours = {n: line.get_color() for n, line in line_styles(w.name for w in found).items()}
    colours[PLAIN] = BASE
    legend = {
        way.name: Line2D([], [], color=colours[way.name], marker="os"[way.trained], linestyle="")
        for way in found
    }
    titles = list(dict.fromkeys(way.model for way in found))
    tokens = "tokens read and written for an answer"
    settings: dict[str, Any] = {"xlabel": tokens, "xscale": "log", "ylim": (0, 100)}
    figure, axes = panels(titles, 2, (3.6, 2.8), legend, **settings)
    for axis, title in zip(axes, titles, strict=True):
        for way in (way for way in found if way.model == title):
            right = way.accuracy
            axis.errorbar(
                way.tokens,
                100 * right.mean,
                yerr=[[100 * (right.mean - right.low)], [100 * (right.high - right.mean)]],
                color=colours[way.name],
                marker="os"[way.trained],
                markersize=5,
                capsize=2,
            )
        axis.grid()
    axes[0].set_ylabel("accuracy (%)")
    return figure
