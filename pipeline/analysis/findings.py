"""What the numbers say, in sentences: verdicts and signatures, gain, rules, collapse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pipeline.analysis.published import beside_published, summary
from pipeline.analysis.results import CellResult, Results, Row, TrainedResult
from pipeline.analysis.seeds import Group, repeated, validation_changes
from pipeline.analysis.signatures import CellSignature
from pipeline.analysis.square import square_findings
from pipeline.analysis.steps import step_findings
from pipeline.analysis.verdicts import shown_by_cell, verdict_findings
from pipeline.config.reward import PublishedReward
from pipeline.formats.plural import counted
from pipeline.judge.answers import followed
from pipeline.train.drift import find_drift
from pipeline.train.stall import find_stall


def findings(results: Results, signatures: Sequence[CellSignature]) -> list[str]:
    """One sentence for each pattern that the results show: over seeds, then by cell.

    Of cells that differ in their seed, what they say together is told, and of a single one only
    where its training went wrong; the tables have the rest. The last sentences say how the study
    differs from the paper that it re-runs, and its results from those that it publishes.
    """
    several = repeated(results)
    told = {result.key for group in several for result in group.cells}
    alone = [result for result in results.trained() if result.key not in told]
    return [
        *_lenient_rewards(results),
        *_over_seeds(several, signatures),
        *verdict_findings(alone, signatures),
        *(sentence for result in alone for sentence in _cell_findings(results, result)),
        *(sentence for result in results.trained() for sentence in _went_wrong(result)),
        *step_findings(results, alone),
        *square_findings(results),
        *(f"{r.key}: absent: {r.absent}." for r in results.cells.values() if r.absent),
        *(f"{key}: {why.text().rstrip('.')}." for key, why in results.missing().items()),
        *_beside_paper(results),
    ]


def _beside_paper(results: Results) -> Iterator[str]:
    if results.against is not None:
        yield f"{results.against.summary()}."
        if results.published:
            yield f"{summary(results.against.paper, beside_published(results))}."


def _lenient_rewards(results: Results) -> Iterator[str]:
    """Say what wins a reward that pays a published rule, on each training set, and why it is."""
    lenient = {
        result.cell.combination: result.cell.train.reward
        for result in results.trained()
        if isinstance(result.cell.train.reward, PublishedReward)
    }
    for combination, reward in lenient.items():
        won = (
            f"{response} on {entry.published:.1%} (strictly {entry.strict:.1%})"
            for response, entry in results.audit.training[combination].best().items()
        )
        yield (
            f"{combination}: the reward {reward.preset} pays a published rule "
            f"({reward.published.rstrip('.')}); without an answer it is won by: {'; '.join(won)}."
        )


def _over_seeds(several: list[Group], signatures: Sequence[CellSignature]) -> Iterator[str]:
    for found in validation_changes(several):
        yield (
            f"{found.group}, {found.change.seeds} seeds: {found.measure}: "
            f"{found.change.points()} points, 95 % interval in brackets."
        )
    shown = shown_by_cell(signatures)
    for group in several:
        yield from _verdicts_together(group)
        names = (sorted({each.name for each in shown.get(r.key, [])}) for r in group.cells)
        if often := _how_often(chain.from_iterable(names)):
            yield f"{group.label}, {counted(len(group.cells), 'seed')}: signatures: {often}."


def _verdicts_together(group: Group) -> Iterator[str]:
    """Say of each task in how many seeds the verdict is the same."""
    tasks = dict.fromkeys(task for result in group.cells for task in result.verdicts)
    for task in tasks:
        found = [result.verdicts[task] for result in group.cells if task in result.verdicts]
        answers = _how_often(followed(each.answers, each.by) for each in found)
        reasoning = _how_often(each.reasoning for each in found)
        yield (
            f"{group.label}, {counted(len(found), 'seed')}: {task}: answers follow {answers}; "
            f"reasoning is {reasoning}."
        )


def _how_often(said: Iterable[str]) -> str:
    return ", ".join(f"{what} in {count}" for what, count in Counter(said).most_common())


def _cell_findings(results: Results, result: TrainedResult) -> Iterator[str]:
    rows = list(results.rows_of(result))
    before, best = result.curve[0].get("validation_accuracy"), result.checkpoints["best"]
    after = best.validation_accuracy
    if before is not None and after is not None:  # verl does not validate imitation
        yield (
            f"{result.key}: validation accuracy {before:.1%} before training, {after:.1%} at the "
            f"best step {best.step} ({100 * (after - before):+.1f} points; best of several, so "
            "without an interval)."
        )
    yield from _against_rules(result.key, rows)


def _went_wrong(result: TrainedResult) -> Iterator[str]:
    """Say where a training collapsed, drifted away or stood still."""
    if collapse := result.collapse:
        yield f"{result.key}: {collapse.describe()}."
    if drift := find_drift(result.curve):
        yield f"{result.key}: {drift.describe()}."
    if stall := find_stall(result.curve):
        yield f"{result.key}: {stall.describe()}."


def _against_rules(key: str, rows: list[Row]) -> Iterator[str]:
    """Name the columns on which a rule that learns nothing is as good, or better."""
    behind = [
        f"{row.task} ({row.trained:.1%} against {row.rule:.1%} by '{row.rule_name}')"
        for row in rows
        if row.rule is not None and row.trained is not None and row.trained <= row.rule
    ]
    if behind:
        yield f"{key}: the trained model does not beat a fixed rule on {', '.join(behind)}."


def accuracy_by_order(results: Results, result: CellResult) -> dict[str, dict[str, float]]:
    """Accuracy by belief order, for each task whose columns ask about several orders.

    Columns of one task are taken together, those of two never: an order is not the same difficulty
    in two benchmarks, or in a benchmark and its look-alike.
    """
    totals: dict[str, dict[str, list[int]]] = {}
    for name, scores in result.tasks.items():
        orders = totals.setdefault(results.params.suite.tasks[name].task, {})
        for order, entry in scores.by_order.items():
            if order.isdigit():
                count = orders.setdefault(order, [0, 0])
                count[0] += entry.correct
                count[1] += entry.count
    return {
        task: {order: right / total for order, (right, total) in orders.items()}
        for task, orders in totals.items()
        if len(orders) > 1
    }
