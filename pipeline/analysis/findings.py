"""What the numbers say, in sentences: gain, rules, inverted difficulty, collapse, forgetting."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.analysis.results import CellResult, Results, Row


def findings(results: Results) -> list[str]:
    """Return one sentence for each pattern that the results show, cell by cell."""
    return [
        sentence for result in results.trained() for sentence in _cell_findings(results, result)
    ]


def _cell_findings(results: Results, result: CellResult) -> Iterator[str]:
    rows = [row for row in results.rows() if row.cell == result.key]
    first, best = result.curve[0], result.checkpoints["checkpoints"]["best"]
    before, after = first["validation_accuracy"], best["validation_accuracy"]
    yield (
        f"{result.key}: validation accuracy {before:.1%} before training, {after:.1%} at the best "
        f"step {best['step']} ({100 * (after - before):+.1f} points)."
    )
    yield from _against_rules(result.key, rows)
    yield from _inverted_difficulty(results, result)
    if collapse := result.collapse:
        yield (
            f"{result.key}: reasoning collapse at step {collapse.step}: median response length "
            f"{collapse.start_length:.1f} -> {collapse.length:.1f} tokens while training accuracy "
            f"rose {collapse.start_accuracy:.0%} -> {collapse.accuracy:.0%}."
        )
    for row in rows:
        if row.task in result.side_check and row.trained < row.base:
            yield (
                f"{result.key}: forgetting: {row.task} fell {row.base:.1%} -> {row.trained:.1%}."
            )


def _against_rules(key: str, rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row.rule is not None and row.trained <= row.rule:
            yield (
                f"{key}: on {row.task} the trained model ({row.trained:.1%}) does not beat the "
                f"rule '{row.rule_name}' that learns nothing ({row.rule:.1%})."
            )


def _inverted_difficulty(results: Results, result: CellResult) -> Iterator[str]:
    """Study 2's signature: a belief order that was never trained scores above a trained one."""
    trained_orders: dict[str, float] = {}
    unseen_orders: dict[str, float] = {}
    for task, scores in result.tasks.items():
        column = results.params.suite.tasks[task]
        seen = result.cell.combination in column.trained
        target = trained_orders if seen else unseen_orders
        target.update({o: s["accuracy"] for o, s in scores["by_order"].items() if o.isdigit()})
    if not trained_orders:
        return
    for order, accuracy in unseen_orders.items():
        if order in trained_orders:
            continue
        hardest = min(trained_orders, key=lambda o: trained_orders[o])
        easier = [o for o in trained_orders if int(o) < int(order)]
        if easier and accuracy > trained_orders[hardest]:
            yield (
                f"{result.key}: inverted difficulty: order {order}, never trained, scores "
                f"{accuracy:.1%}, above trained order {hardest} ({trained_orders[hardest]:.1%})."
            )
