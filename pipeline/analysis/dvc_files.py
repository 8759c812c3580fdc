"""What ``dvc metrics``, ``dvc plots`` and ``dvc artifacts`` read: small files with fixed names."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.results import Results
from pipeline.formats.files import write_json
from pipeline.formats.records import Figures

CURVES = ("validation_accuracy", "reward_mean", "accuracy", "length_median")
"""What is worth a plot; of cells that imitate, their loss in place of the last three."""


def write_dvc_files(results: Results, folder: Path) -> None:
    """Write ``metrics.json``, ``curves/CELL.json`` and ``checkpoints.json`` into a folder."""
    write_json(folder / "metrics.json", accuracies(results))
    for result in results.trained():
        write_json(folder / "curves" / f"{result.key}.json", curve(result.curve))
    write_json(
        folder / "checkpoints.json",
        {
            result.key: {role: stored.digest for role, stored in result.checkpoints.items()}
            for result in results.trained()
        },
    )


def accuracies(results: Results) -> dict[str, dict[str, float]]:
    """The accuracy of every cell on every task, in percent, one decimal."""
    return {
        result.key: {
            task: round(100 * scores.accuracy, 1) for task, scores in result.all_tasks().items()
        }
        for result in results.cells.values()
        if result.all_tasks()
    }


def curve(rows: list[Figures]) -> list[dict[str, float | None]]:
    """The validated steps, or all where none is, with the figures worth a plot.

    A figure that some step lacks (the reward before training) is left out of none: ``dvc plots``
    draws nothing of rows whose keys differ.
    """
    validated = [row for row in rows if "validation_accuracy" in row] or rows[1:]
    imitates = not any("reward_mean" in row for row in rows)
    names = (*CURVES[:1], "loss") if imitates else CURVES
    known = [name for name in names if any(name in row for row in validated)]
    return [{name: row.get(name) for name in ("step", *known)} for row in validated]
