"""What several seeds of the same cell say together: means with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from pydantic import Field
from scipy import special  # type: ignore[import-untyped]

from pipeline.analysis.grades import side_by_side
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.evaluate.statistics import LEVEL, seeds_and_stories
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import ends, points
from pipeline.formats.records import Record


class SeedEstimate(Record):
    """A mean over seeds with its 95 % interval (Student's t); ``low`` = ``high`` for one seed."""

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> SeedEstimate:
        """The estimate from one value for each seed."""
        middle, count = mean(values), len(values)
        if count == 1:
            return cls(mean=middle, low=middle, high=middle, seeds=1)
        quantile = float(special.stdtrit(count - 1, (1 + LEVEL) / 2))
        reach = quantile * stdev(values) / count**0.5
        return cls(mean=middle, low=middle - reach, high=middle + reach, seeds=count)

    def points(self) -> str:
        """A change of accuracy as text, in percentage points."""
        return points(self.mean, self.low, self.high)


@dataclass(frozen=True)
class Group:
    """The cells that differ in nothing but their seed."""

    label: str
    cells: tuple[TrainedResult, ...]

    def curve(self, name: str, most: int | None = None) -> list[tuple[int, SeedEstimate]]:
        """A metric of training by step, at the steps that all seeds have it.

        Args:
            name: The metric.
            most: Steps to return at most, evenly from the first to the last; all if absent.
        """
        values: dict[int, list[float]] = {}
        for result in self.cells:
            for row in result.curve:
                if name in row:
                    values.setdefault(int(row["step"]), []).append(row[name])
        steps = sorted(step for step, found in values.items() if len(found) == len(self.cells))
        if most is not None and len(steps) > most:
            last = len(steps) - 1
            steps = [steps[round(place * last / (most - 1))] for place in range(most)]
        return [(step, SeedEstimate.of(values[step])) for step in steps]


def groups(results: Results) -> list[Group]:
    """The trained cells, those together that differ in nothing but their seed.

    Those are left out whose base model has no results, or the cell that they start from: there is
    nothing to compare them with.
    """
    found: dict[str, list[TrainedResult]] = {}
    for result in results.trained():
        if results.base_of(result).missing is None and results.start_of(result).missing is None:
            found.setdefault(result.cell.group, []).append(result)
    return [Group(label, tuple(cells)) for label, cells in found.items()]


class SeedChange(Record):
    """What training changed in one measure, over seeds; accuracies are shares from 0 to 1.

    Attributes:
        group: Label of the cells.
        measure: ``validation, best step``, ``validation, last step``, or a column of the suite.
        before: Accuracy of what training started from: the base model, or another cell; the mean
            where each seed has its own.
        after: Mean accuracy after training.
        change: The change with its interval, from seed to seed.
        befores: The accuracy of each seed before, in the order of the seeds.
        afters: The accuracy of each seed after training.
        drawn: Its 95 % interval by drawing seeds and stories again; None of validation, whose
            single answers are not kept.
    """

    group: str
    measure: str
    before: float
    after: float
    change: SeedEstimate
    befores: list[float] = Field(default_factory=list)
    afters: list[float] = Field(default_factory=list)
    drawn: tuple[float, float] | None = None


BEST, LAST = "validation, best step", "validation, last step"


def changes(results: Results) -> list[SeedChange]:
    """What training changed, for every group that has several seeds.

    The best step is chosen by the validation set it is measured on, which flatters it a little; the
    last step and the columns of the suite are not chosen.
    """
    return [change for group in repeated(results) for change in _changes(results, group)]


def validation_changes(several: Sequence[Group]) -> list[SeedChange]:
    """The first two of :func:`changes` of each group: those in validation."""
    return [change for group in several for change in _in_validation(group)]


def repeated(results: Results) -> list[Group]:
    return [group for group in groups(results) if len(group.cells) > 1]


def _in_validation(group: Group) -> Iterator[SeedChange]:
    if any("validation_accuracy" not in result.curve[0] for result in group.cells):
        return  # verl does not validate imitation
    curves = [
        [row["validation_accuracy"] for row in result.curve if "validation_accuracy" in row]
        for result in group.cells
    ]
    first, last = ([float(curve[place]) for curve in curves] for place in (0, -1))
    best = [result.checkpoints["best"].validation_accuracy or 0.0 for result in group.cells]
    yield _change(group, BEST, first, best)
    yield _change(group, LAST, first, last)


def _changes(results: Results, group: Group) -> Iterator[SeedChange]:
    yield from _in_validation(group)
    starts = [results.start_of(result) for result in group.cells]
    for task in starts[0].all_tasks():
        before, after = (
            [r.all_tasks()[task].accuracy for r in cells] for cells in (starts, group.cells)
        )
        found = _change(group, task, before, after)
        yield found.model_copy(update={"drawn": _drawn(results, group, task)})


def _drawn(results: Results, group: Group, task: str) -> tuple[float, float] | None:
    """The interval of a change by drawing seeds and stories; None without single answers."""
    steps: list[list[float]] = []
    stories: list[list[str]] = []
    for result in group.cells:
        both = results.paired(results.start_of(result), result)
        before, after, told = side_by_side(both, [task])
        if not told:
            return None
        steps.append([b - a for a, b in zip(before, after, strict=True)])
        stories.append(told)
    return seeds_and_stories(steps, stories)


def _change(group: Group, measure: str, before: list[float], after: list[float]) -> SeedChange:
    steps = [b - a for a, b in zip(before, after, strict=True)]
    return SeedChange(
        group=group.label,
        measure=measure,
        before=mean(before),
        after=mean(after),
        change=SeedEstimate.of(steps),
        befores=before,
        afters=after,
    )


class Standing(Record):
    """What some cells, or a rule that learns nothing, score on each column.

    Attributes:
        who: Label of the cells, or the rule.
        seeds: Number of cells; none of a rule.
        columns: Accuracy by column of the suite, then of the side-check.
    """

    who: str
    seeds: int | None
    columns: dict[str, SeedEstimate]


def standings(results: Results) -> list[Standing]:
    """What base models, trained cells and rules score, where there are several seeds.

    Of the rules: for each column the best one, and every one that is the best of some column.
    """
    several = repeated(results)
    if not several:
        return []
    bases: dict[str, CellResult] = {}
    for result in (result for group in several for result in group.cells):
        bases.setdefault(result.cell.model, results.base_of(result))
    return [
        _standing("base models" if len(bases) > 1 else "base model", list(bases.values())),
        *(_standing(group.label, group.cells) for group in several),
        *_rules(results),
    ]


def _standing(who: str, cells: Sequence[CellResult]) -> Standing:
    tasks = cells[0].all_tasks()
    columns = {
        task: SeedEstimate.of([r.all_tasks()[task].accuracy for r in cells]) for task in tasks
    }
    return Standing(who=who, seeds=len(cells), columns=columns)


def _rules(results: Results) -> Iterator[Standing]:
    audited = {name: column.baselines for name, column in results.audit.columns.items()}
    best = {name: found.best.rule for name, found in audited.items() if found.best is not None}
    for rule in dict.fromkeys(best.values()):
        columns = {name: each.rules[rule] for name, each in audited.items() if rule in each.rules}
        yield Standing(
            who=f"rule: {rule}",
            seeds=None,
            columns={name: SeedEstimate.of([share]) for name, share in columns.items()},
        )


def standing_texts(found: Standing, columns: Sequence[str]) -> tuple[str, ...]:
    """The texts of one line: in percent, with half the width of the 95 % interval."""
    return (
        found.who,
        "-" if found.seeds is None else str(found.seeds),
        *(_with_margin(found.columns.get(column)) for column in columns),
    )


def _with_margin(found: SeedEstimate | None) -> str:
    if found is None:
        return "-"
    margin = f" ± {100 * (found.high - found.mean):.1f}" if found.seeds > 1 else ""
    return f"{100 * found.mean:.1f}{margin}"


def seeds_markdown(stand: Sequence[Standing], found: Sequence[SeedChange]) -> str:
    """Standings and changes as Markdown tables."""
    columns = list(stand[0].columns) if stand else []
    standing = markdown_table(
        ("accuracy in %", "seeds", *columns),
        (standing_texts(each, columns) for each in stand),
        range(1, len(columns) + 2),
    )
    headings = (
        *("cells", "seeds", "measure", "before", "after"),
        *("change (95 % interval)", "seeds and stories"),
    )
    changes = markdown_table(headings, map(change_texts, found), {1, *range(3, 7)})
    return f"{standing}\n{changes}"


def change_texts(change: SeedChange) -> tuple[str, ...]:
    """The texts of one line; accuracies in percent."""
    return (
        change.group,
        str(change.change.seeds),
        change.measure,
        f"{100 * change.before:.1f}",
        f"{100 * change.after:.1f}",
        change.change.points(),
        "-" if change.drawn is None else ends(*change.drawn),
    )
