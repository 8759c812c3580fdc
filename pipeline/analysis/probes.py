"""Accuracy in and out of distribution while training goes on, from the probes of the trainer."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import Any

from pipeline.analysis.results import CellResult, Results

_PREFIX = "probe/"


@dataclass(frozen=True, slots=True)
class ProbePoint:
    """One probe of one cell: mean accuracy over its columns; None where it has no such column."""

    step: int
    epoch: float
    inside: float | None
    outside: float | None


def probe_points(results: Results, result: CellResult) -> list[ProbePoint]:
    """Return the probes of a cell in order, the base model first; empty where it has none."""
    recipe, points = result.cell.train, []
    for row in result.curve:
        columns = _columns(row)
        if not columns or recipe is None:
            continue
        trained = {name for name in columns if results.is_trained(name, result.cell)}
        points.append(
            ProbePoint(
                step=row["step"],
                epoch=row["step"] * recipe.prompts_per_step / _training_rows(results, result),
                inside=_mean([columns[name] for name in columns if name in trained]),
                outside=_mean([columns[name] for name in columns if name not in trained]),
            )
        )
    return points


def machine_probes(results: Results) -> list[dict[str, Any]]:
    """Return every probe of every column as JSON values."""
    return [
        {
            "cell": result.key,
            "step": row["step"],
            "column": name,
            "in_distribution": results.is_trained(name, result.cell),
            "accuracy": accuracy,
        }
        for result in results.trained()
        for row in result.curve
        for name, accuracy in _columns(row).items()
    ]


def _columns(row: dict[str, Any]) -> dict[str, float]:
    return {k.removeprefix(_PREFIX): v for k, v in row.items() if k.startswith(_PREFIX)}


def _training_rows(results: Results, result: CellResult) -> int:
    card = results.cards[result.cell.combination or ""]
    return int(card["sets"]["train"]["rows"])


def _mean(values: list[float]) -> float | None:
    return mean(values) if values else None
