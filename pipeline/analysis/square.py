"""Prompt or training: both models, asked with both prompts.

Papers ask base models with one prompt and trained ones with another, so that what they report as
the gain is of both. Where every model was asked with both, the two can be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.analysis.results import CellResult, Results
from pipeline.config.params import AskedCell
from pipeline.formats.records import Record


class Square(Record):
    """Accuracies of one column, shares from 0 to 1.

    Attributes:
        cell: Key of the trained cell.
        task: The column.
        base_prompt: The prompt that base models are asked with.
        prompt: The prompt that trained models are asked with.
        base: The base model with its own prompt.
        base_crossed: The base model with the prompt of trained ones.
        trained_crossed: The trained model with the prompt of base models.
        trained: The trained model with its own prompt.
    """

    cell: str
    task: str
    base_prompt: str
    prompt: str
    base: float
    base_crossed: float
    trained_crossed: float
    trained: float


HEADINGS = ("cell", "task", "base", "base, other prompt", "trained, other prompt", "trained")


def squares(results: Results) -> list[Square]:
    """The square of every column, for every trained cell that was asked with both."""
    return [
        Square(
            cell=trained.key,
            task=task,
            base_prompt=base.cell.evaluate.prompt,
            prompt=trained.cell.evaluate.prompt,
            base=base.tasks[task].accuracy,
            base_crossed=base_crossed.tasks[task].accuracy,
            trained_crossed=trained_crossed.tasks[task].accuracy,
            trained=scores.accuracy,
        )
        for base, base_crossed, trained_crossed, trained in _asked_with_both(results)
        for task, scores in trained.tasks.items()
    ]


def _asked_with_both(
    results: Results,
) -> Iterator[tuple[CellResult, CellResult, CellResult, CellResult]]:
    """Yield the four corners of each trained cell that has them all, named as in a square."""
    crossed = {
        result.cell.of: result
        for result in results.cells.values()
        if isinstance(result.cell, AskedCell)
    }
    for trained in results.trained():
        if trained.key in crossed:
            base = results.base_of(trained)
            corners = (base, crossed[base.key], crossed[trained.key], trained)
            if all(each.missing is None for each in corners):
                yield corners


def square_texts(square: Square) -> tuple[str, ...]:
    """The texts of one line; accuracies in percent."""
    shares = (square.base, square.base_crossed, square.trained_crossed, square.trained)
    return (square.cell, square.task, *(f"{100 * share:.1f}" for share in shares))


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
