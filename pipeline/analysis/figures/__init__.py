"""Figures of the report, as SVG text with the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import matplotlib
from matplotlib.figure import Figure

from pipeline.analysis.figures.curves import (
    along_the_training,
    training_curves,
)
from pipeline.analysis.figures.matrices import models_and_combinations, transfer
from pipeline.analysis.figures.panels import style
from pipeline.analysis.figures.scores import accuracy_by_order, against_rules
from pipeline.analysis.figures.tokens import accuracy_against_tokens
from pipeline.analysis.results import Results
from pipeline.formats.svg import svg_text

FIGURES: MappingProxyType[str, tuple[Callable[[Results], Figure | None], str]] = MappingProxyType(
    {
        "training-curves": (
            training_curves,
            "Lines by training step, a row for each model: validation accuracy, mean reward, mean "
            "response length; results.json and curves/ hold the numbers.",
        ),
        "models-and-combinations": (
            models_and_combinations,
            "A square for each model and training set: the mean change of accuracy in points, on "
            "columns that were trained and on all others.",
        ),
        "transfer": (
            transfer,
            "Squares, a grid for each model: the change of accuracy in points on each column (to "
            "the right) after training on each set (downwards); trained columns are framed.",
        ),
        "along-the-training": (
            along_the_training,
            "Lines by step, a panel for each column: accuracy of each cell at every step that was "
            "kept, in its 95 % interval; the table of gains that come and go says what of it is "
            "beyond chance.",
        ),
        "accuracy-by-order": (
            accuracy_by_order,
            "Lines by belief order, a panel for each model and task: accuracy of the base model "
            "(grey) and after each training.",
        ),
        "accuracy-against-tokens": (
            accuracy_against_tokens,
            "Dots by tokens read and written for an answer, a panel for each model: accuracy of "
            "the base model, of prompt programs, and after each training (squares), with 95 % "
            "intervals over seeds.",
        ),
        "against-rules": (
            against_rules,
            "Dots, a panel for each model: accuracy on each column of the base model (grey), after "
            "each training, and of the best rule that learns nothing (red stroke).",
        ),
    }
)
"""What draws each figure, and what it shows, in words, for those who do not see it."""


def draw_all(results: Results) -> dict[str, str]:
    """Every figure that applies, as SVG text by name."""
    found = {}
    with matplotlib.rc_context(style()):
        for name, (draw, alternative) in FIGURES.items():
            if (figure := draw(results)) is not None:
                found[name] = svg_text(figure, alternative)
    return found
