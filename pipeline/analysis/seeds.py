"""What several seeds of the same cell say together: means with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from pipeline.analysis.results import Results, TrainedResult
from pipeline.foreign import markdown_text
from pipeline.records import Record

# The 0.975 quantile of Student's t by degrees of freedom, from 1 on; beyond them the last is kept.
_QUANTILES = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)


class Estimate(Record):
    """A mean over seeds with its 95 % interval (Student's t); ``low`` = ``high`` for one seed."""

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Return the estimate from one value for each seed."""
        middle, count = mean(values), len(values)
        if count == 1:
            return cls(mean=middle, low=middle, high=middle, seeds=1)
        quantile = _QUANTILES[min(count - 1, len(_QUANTILES)) - 1]
        reach = quantile * stdev(values) / count**0.5
        return cls(mean=middle, low=middle - reach, high=middle + reach, seeds=count)

    def points(self) -> str:
        """Return a change of accuracy as text, in percentage points."""
        low, high = f"{100 * self.low:+.1f}", f"{100 * self.high:+.1f}"
        return f"{100 * self.mean:+.1f} ({low} to {high})"


@dataclass(frozen=True)
class Group:
    """The cells that differ in nothing but their seed."""

    label: str
    cells: tuple[TrainedResult, ...]

    def curve(self, name: str) -> list[tuple[int, Estimate]]:
        """Return a metric of training by step, at the steps that all seeds have it."""
        values: dict[int, list[float]] = {}
        for result in self.cells:
            for row in result.curve:
                if name in row:
                    values.setdefault(int(row["step"]), []).append(row[name])
        whole = {step: found for step, found in values.items() if len(found) == len(self.cells)}
        return [(step, Estimate.of(found)) for step, found in sorted(whole.items())]


def groups(results: Results) -> list[Group]:
    """Return the trained cells, those of one model, combination and algorithm together."""
    found: dict[tuple[object, ...], list[TrainedResult]] = {}
    for result in results.trained():
        cell = result.cell
        found.setdefault((cell.model, cell.combination, repr(cell.algorithm)), []).append(result)
    return [Group(_label(cells), tuple(cells)) for cells in found.values()]


def _label(cells: Sequence[TrainedResult]) -> str:
    first = cells[0]
    return first.key if len(cells) == 1 else first.key.removesuffix(f"-s{first.cell.seed}")


class Change(Record):
    """What training changed in one measure, over seeds; accuracies are shares from 0 to 1.

    Attributes:
        group: Label of the cells.
        measure: ``validation, best step``, ``validation, last step``, or a column of the suite.
        before: Accuracy of the base model.
        after: Mean accuracy after training.
        change: The change with its interval.
    """

    group: str
    measure: str
    before: float
    after: float
    change: Estimate


BEST, LAST = "validation, best step", "validation, last step"


def changes(results: Results) -> list[Change]:
    """Return what training changed, for every group that has several seeds.

    The best step is chosen by the validation set it is measured on, which flatters it a little; the
    last step and the columns of the suite are not chosen.
    """
    several = [group for group in groups(results) if len(group.cells) > 1]
    return [change for group in several for change in _changes(results, group)]


def _changes(results: Results, group: Group) -> Iterator[Change]:
    first = [result.curve[0]["validation_accuracy"] for result in group.cells]
    best = [_validated(result, best=True) for result in group.cells]
    last = [_validated(result, best=False) for result in group.cells]
    yield _change(group, BEST, first, best)
    yield _change(group, LAST, first, last)
    base = results.base_of(group.cells[0])
    for task in base.all_tasks():
        before, after = (
            [r.all_tasks()[task].accuracy for r in cells]
            for cells in ([base] * len(group.cells), group.cells)
        )
        yield _change(group, task, before, after)


def _validated(result: TrainedResult, *, best: bool) -> float:
    if best:
        return result.checkpoints["best"].validation_accuracy or 0.0
    return float(
        next(
            row["validation_accuracy"]
            for row in reversed(result.curve)
            if "validation_accuracy" in row
        )
    )


def _change(group: Group, measure: str, before: list[float], after: list[float]) -> Change:
    steps = [b - a for a, b in zip(before, after, strict=True)]
    return Change(
        group=group.label,
        measure=measure,
        before=mean(before),
        after=mean(after),
        change=Estimate.of(steps),
    )


def seeds_markdown(found: Sequence[Change]) -> str:
    """Return the changes as a Markdown table."""
    lines = [
        "| cells | seeds | measure | before | after | change (95 % interval) |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    lines += [f"| {' | '.join(map(markdown_text, change_texts(change)))} |" for change in found]
    return "\n".join(lines) + "\n"


def change_texts(change: Change) -> tuple[str, ...]:
    """Return the texts of one line; accuracies in percent."""
    return (
        change.group,
        str(change.change.seeds),
        change.measure,
        f"{100 * change.before:.1f}",
        f"{100 * change.after:.1f}",
        change.change.points(),
    )
