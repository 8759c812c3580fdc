"""Accuracy on trained columns and on others while training goes on, from the trainer's probes."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from pipeline.analysis.results import Results, TrainedResult
from pipeline.analysis.tables import Line
from pipeline.formats.records import Figures

_PREFIX = "probe/"


@dataclass(frozen=True, slots=True)
class ProbePoint:
    """One probe of one cell: mean accuracy over the columns it trains on (``inside``) and over the
    others (``outside``); None where it has no such column."""

    step: int
    epoch: float
    inside: float | None
    outside: float | None


def probe_points(results: Results, result: TrainedResult) -> list[ProbePoint]:
    """The probes of a cell in order, the base model first; empty where it has none."""
    recipe, points = result.cell.train, []
    for row in result.curve:
        columns = _columns(row)
        if not columns:
            continue
        trained = {name for name in columns if results.is_trained(name, result.cell)}
        points.append(
            ProbePoint(
                step=int(row["step"]),
                epoch=row["step"]
                * recipe.prompts_per_step
                / results.card_of(result).sets["train"].rows,
                inside=_mean([columns[name] for name in columns if name in trained]),
                outside=_mean([columns[name] for name in columns if name not in trained]),
            )
        )
    return points


def column_probes(results: Results) -> list[Line]:
    """Every probe of every column."""
    return [
        {
            "cell": result.key,
            "step": int(row["step"]),
            "column": name,
            "mark": results.mark_of(name, result.cell),
            "accuracy": accuracy,
        }
        for result in results.trained()
        for row in result.curve
        for name, accuracy in _columns(row).items()
    ]


def _columns(row: Figures) -> dict[str, float]:
    return {k.removeprefix(_PREFIX): v for k, v in row.items() if k.startswith(_PREFIX)}


def _mean(values: list[float]) -> float | None:
    return fmean(values) if values else None
