"""Prompt or training: both models, asked with both prompts.

Papers ask base models with one prompt and trained ones with another, so that what they report as
the gain is of both. Where every model was asked with both, the two can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.tables import Column, Line, Table, percents


class Corners(NamedTuple):
    """Both models with their own prompt, and each with the other's (``crossed``)."""

    base: CellResult
    base_crossed: CellResult
    trained_crossed: CellResult
    trained: CellResult


_Square = tuple[Corners, str]
"""Four cells, and a column that they were asked."""


def _accuracy(corner: int) -> Callable[[_Square], float]:
    return lambda each: each[0][corner].tasks[each[1]].accuracy


SQUARE = Table[_Square](
    Column("cell", lambda each: each[0].trained.key, "cell"),
    Column("task", lambda each: each[1], "task"),
    Column("base_prompt", lambda each: each[0].base.cell.evaluate.prompt),
    Column("prompt", lambda each: each[0].trained.cell.evaluate.prompt),
    Column("base", _accuracy(0), "base", percents("base")),
    Column("base_crossed", _accuracy(1), "base, other prompt", percents("base_crossed")),
    Column("trained_crossed", _accuracy(2), "trained, other prompt", percents("trained_crossed")),
    Column("trained", _accuracy(3), "trained", percents("trained")),
)


def squares(results: Results) -> list[Line]:
    """Accuracies of every column, for every trained cell that was asked with both prompts."""
    corners = _asked_with_both(results)
    return SQUARE.lines((each, task) for each in corners for task in each.trained.tasks)


def _asked_with_both(results: Results) -> Iterator[Corners]:
    """Yield the four corners of each trained cell that has them all."""
    crossed = results.params.crossed()
    for trained in results.trained():
        if trained.key in crossed:
            base = results.base_of(trained)
            other_base, other = (results.cells[crossed[each.key]] for each in (base, trained))
            corners = Corners(base, other_base, other, trained)
            if all(each.missing is None for each in corners):
                yield corners


def square_findings(results: Results) -> Iterator[str]:
    """Say of each trained cell what training changed and what the prompt, over its columns."""
    for base, base_crossed, trained_crossed, trained in _asked_with_both(results):
        prompt, base_prompt = trained.cell.evaluate.prompt, base.cell.evaluate.prompt
        points = results.in_points
        yield (
            f"{trained.key}: from the base model with prompt {base_prompt} to the trained one with "
            f"{prompt} accuracy changes by {points(base, trained)} points on average over "
            f"{len(trained.tasks)} columns (95 % intervals in brackets). With one prompt for both, "
            f"training changes it by {points(base, trained_crossed)} ({base_prompt}) and "
            f"{points(base_crossed, trained)} ({prompt}); in one model, the prompt changes it "
            f"by {points(base, base_crossed)} (base) and "
            f"{points(trained_crossed, trained)} (trained)."
        )
