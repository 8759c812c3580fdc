"""What the numbers say, in sentences: gain, rules, inverted difficulty, collapse, forgetting."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.analysis.probes import probe_points
from pipeline.analysis.results import CellResult, Results, Row, TrainedResult
from pipeline.analysis.seeds import BEST, LAST, changes


def findings(results: Results) -> list[str]:
    """Return one sentence for each pattern that the results show: over seeds, then by cell."""
    by_cell = (_cell_findings(results, result) for result in results.trained())
    return [
        *_over_seeds(results),
        *(sentence for found in by_cell for sentence in found),
        *(f"{r.key}: absent: {r.absent}." for r in results.cells.values() if r.absent),
    ]


def _over_seeds(results: Results) -> Iterator[str]:
    for found in changes(results):
        if found.measure in (BEST, LAST):
            yield (
                f"{found.group}, {found.change.seeds} seeds: {found.measure}: "
                f"{found.change.points()} points, 95 % interval in brackets."
            )


def _cell_findings(results: Results, result: TrainedResult) -> Iterator[str]:
    rows = [row for row in results.rows() if row.cell == result.key]
    first, best = result.curve[0], result.checkpoints["best"]
    before, after = first["validation_accuracy"], best.validation_accuracy or 0.0
    yield (
        f"{result.key}: validation accuracy {before:.1%} before training, {after:.1%} at the best "
        f"step {best.step} ({100 * (after - before):+.1f} points)."
    )
    yield from _against_rules(result.key, rows)
    yield from _inverted_difficulty(results, result)
    yield from _probed(results, result)
    if collapse := result.collapse:
        yield f"{result.key}: {collapse.describe()}."
    for row in rows:
        if row.task in result.side_check and (row.change or 0) < 0:
            yield (
                f"{result.key}: forgetting: {row.task} fell {row.base:.1%} -> {row.trained:.1%}."
            )


def _probed(results: Results, result: TrainedResult) -> Iterator[str]:
    """Study 2's question: how long does training on some tasks help the others?"""
    points = [p for p in probe_points(results, result) if p.outside is not None]
    if len(points) < 2:
        return
    first, last = points[0], points[-1]
    best = max(points, key=lambda p: (p.outside or 0, -p.step))
    inside = (
        f"in distribution {first.inside:.1%} -> {last.inside:.1%}, "
        if first.inside is not None and last.inside is not None
        else ""
    )
    yield (
        f"{result.key}: probes from step {first.step} to {last.step}: {inside}out of distribution "
        f"{first.outside:.1%} -> {last.outside:.1%}, highest at step {best.step} "
        f"({best.outside:.1%})."
    )


def _against_rules(key: str, rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row.rule is not None and row.trained is not None and row.trained <= row.rule:
            yield (
                f"{key}: on {row.task} the trained model ({row.trained:.1%}) does not beat the "
                f"rule '{row.rule_name}' that learns nothing ({row.rule:.1%})."
            )


def _inverted_difficulty(results: Results, result: TrainedResult) -> Iterator[str]:
    """Study 2's signature: an order that was never trained scores above an easier one that was."""
    seen = results.card_of(result).sets["train"].orders
    accuracy = accuracy_by_order(result)
    for order in (o for o in accuracy if o not in seen):
        easier = [o for o in accuracy if o in seen and int(o) < int(order)]
        hardest = min(easier, key=lambda o: accuracy[o], default=None)
        if hardest is not None and accuracy[order] > accuracy[hardest]:
            yield (
                f"{result.key}: inverted difficulty: order {order}, never trained, scores "
                f"{accuracy[order]:.1%}, above trained order {hardest} ({accuracy[hardest]:.1%})."
            )


def accuracy_by_order(result: CellResult) -> dict[str, float]:
    """Return accuracy by belief order over all tasks of a cell that have orders."""
    totals: dict[str, list[int]] = {}
    for scores in result.tasks.values():
        for order, entry in scores.by_order.items():
            if order.isdigit():
                count = totals.setdefault(order, [0, 0])
                count[0] += entry.correct
                count[1] += entry.count
    return {order: right / total for order, (right, total) in totals.items()}
