"""What Git keeps of a study: small files that DVC's and other tools compare between commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.analysis.results import Results
from pipeline.analysis.summary import StudySummary
from pipeline.formats.files import write_json
from pipeline.formats.records import Figures

CURVES = ("validation_accuracy", "reward_mean", "accuracy", "length_median")
"""What is worth a plot; of cells that imitate, their loss in place of the last three."""


def write_small_files(results: Results, summary: StudySummary, page: Path, folder: Path) -> None:
    """Write what was found, without samples and weights, into a folder.

    Args:
        results: What was found.
        summary: What the report says of them, with the verdicts.
        page: The report's ``report.md``, which is copied.
        folder: Gets ``metrics.json``, ``verdicts.json``, ``curves.json``, ``checkpoints.json`` and
            ``report.md``.
    """
    write_json(folder / "metrics.json", accuracies(results))
    write_json(
        folder / "verdicts.json", summary.model_dump(mode="json", include={"verdicts"})["verdicts"]
    )
    write_json(folder / "curves.json", curves(results))
    (folder / "report.md").write_bytes(page.read_bytes())
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


def curves(results: Results) -> list[dict[str, Any]]:
    """The curves of all cells; ``dvc plots`` draws nothing of rows whose keys differ."""
    rows = [{"cell": each.key, **row} for each in results.trained() for row in curve(each.curve)]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def curve(rows: list[Figures]) -> list[dict[str, float | None]]:
    """The validated steps, or all where none is, with the figures worth a plot."""
    validated = [row for row in rows if "validation_accuracy" in row] or rows[1:]
    imitates = not any("reward_mean" in row for row in rows)
    names = (*CURVES[:1], "loss") if imitates else CURVES
    known = [name for name in names if any(name in row for row in validated)]
    return [{name: row.get(name) for name in ("step", *known)} for row in validated]
