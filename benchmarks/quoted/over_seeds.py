"""What README and ``docs/results.md`` say of the study ``mini-seeds``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.quoted.text import listed, made_on, paragraph, table
from benchmarks.stored import Stored
from pipeline.analysis.seeds import BEST, LAST, SeedChange, SeedEstimate
from pipeline.evaluate.statistics import LEVEL
from pipeline.formats.plural import ends

COLUMNS = {
    "rule_right": "where the earliest exit is right",
    "rule_wrong": "where it is wrong",
    "pairs": "pairs",
}
"""The columns that tell belief from rule, in words."""

ARMS = {
    "grpo": "GRPO",
    "random": "GRPO with a random reward",
    "answers": "supervised training on answers",
    "traces": "supervised training on true reasoning",
}
SETS = ("cued", "balanced")


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that differ in nothing but their seed, and what training changed in them.

    Attributes:
        group: What their keys have in common.
        changes: The changes by measure.
    """

    group: str
    changes: dict[str, SeedChange]

    @property
    def combination(self) -> str:
        """What they are trained on."""
        return self.group.split("-")[1]

    @property
    def arm(self) -> str:
        """How they are trained."""
        return self.group.split("-")[-1]

    @property
    def called(self) -> str:
        """Both in words."""
        return f"{ARMS.get(self.arm, self.arm)} on `{self.combination}`"

    def changed(self) -> list[str]:
        """What changed in the columns that tell belief from rule."""
        return [self.changes[name].change.points() for name in COLUMNS]

    def less(self, other: Cells, measure: str) -> SeedEstimate:
        """How much more this changes a measure than other cells, seed by seed."""
        mine, theirs = self.changes[measure], other.changes[measure]
        seeds = zip(mine.befores, mine.afters, theirs.befores, theirs.afters, strict=True)
        return SeedEstimate.of([(after - before) - (b - a) for before, after, a, b in seeds])

    def columns(self) -> list[SeedChange]:
        """The changes of columns, which are not those of validation."""
        return [each for each in self.changes.values() if each.measure not in (BEST, LAST)]


def cells_of(found: Stored) -> list[Cells]:
    """The groups of cells in the order of the study."""
    changes: dict[str, dict[str, SeedChange]] = {}
    for each in found.over_seeds:
        changes.setdefault(each.group, {})[each.measure] = _by_seed(found, each)
    return [Cells(group, measures) for group, measures in changes.items()]


def _by_seed(found: Stored, change: SeedChange) -> SeedChange:
    """A change with the accuracies of each seed, which a chain of trainings keeps by cell."""
    steps = [
        each
        for each in found.chained
        if (re.sub(r"-s\d+", "", each["cell"]), each["task"]) == (change.group, change.measure)
    ]
    if change.befores or not steps:
        return change
    ends = {f"{end}s": [step[end] for step in steps] for end in ("before", "after")}
    return change.model_copy(update=ends)


def seeds(found: Stored) -> int:
    """The number of seeds."""
    return found.over_seeds[0].change.seeds


def moved(change: SeedEstimate) -> str:
    """A change as a predicate: what holds over seeds, and what does not."""
    if _is_sure(change):
        return f"{_briefly(change)} ({ends(change.low, change.high)})"
    return f"changes by {change.points()} points, which may be chance"


def _is_sure(change: SeedEstimate) -> bool:
    """Whether its interval lies on one side of zero."""
    return change.low > 0 or change.high < 0


def _briefly(change: SeedEstimate) -> str:
    if not _is_sure(change):
        return "changes nothing beyond chance"
    return f"{'gains' if change.low > 0 else 'loses'} {100 * abs(change.mean):.1f} points"


# --- differences --------------------------------------------------------------------------------


def contrasts(shown: Mapping[tuple[str, str], Cells]) -> str:
    """Training less its control, and one training set less the other: a table and sentences.

    Args:
        shown: The cells by training set and arm, ``grpo`` and ``random`` among them.
    """
    pairs = _contrasts(shown)
    if not pairs:
        return ""
    lines = [
        (f"{one.called} less {other.called}", *(each.points() for each in _less(one, other)))
        for one, other in pairs
    ]
    differences = table((("difference, seed by seed", *COLUMNS.values()), *lines), 0)
    return f"{differences}\n{paragraph(_of_contrast(one, other) for one, other in pairs)}"


def _contrasts(shown: Mapping[tuple[str, str], Cells]) -> list[tuple[Cells, Cells]]:
    """What is to be compared: training with its control, and one training set with the other."""
    cued, balanced = SETS
    pairs = [((name, "grpo"), (name, "random")) for name in SETS]
    pairs.append(((cued, "grpo"), (balanced, "grpo")))
    by_seed = {key for key, each in shown.items() if all(c.befores for c in each.columns())}
    return [(shown[one], shown[other]) for one, other in pairs if {one, other} <= by_seed]


def _less(one: Cells, other: Cells) -> list[SeedEstimate]:
    """The difference of two changes in each column, seed by seed."""
    return [one.less(other, name) for name in COLUMNS]


def _of_contrast(one: Cells, other: Cells) -> str:
    """Which differences hold over seeds; what does not hold is not called nothing."""
    held = [
        f"{100 * each.mean:+.1f} points {COLUMNS[name] if name != 'pairs' else 'on pairs'}"
        for name, each in zip(COLUMNS, _less(one, other), strict=True)
        if _is_sure(each)
    ]
    said = listed(held) if held else "no difference that these seeds can tell from chance"
    return f"{one.called} less {other.called}: {said}."


def changes_table(found: Stored) -> str:
    """What training changed in the columns that tell belief from rule."""
    rows = (
        (
            f"`{each.combination}`",
            ARMS[each.arm],
            *each.changed(),
        )
        for each in cells_of(found)
    )
    return table((("trained on", "by", *COLUMNS.values()), *rows), len(COLUMNS))


def _of_random(groups: Sequence[Cells]) -> str:
    """Where a reward drawn by a coin seems to gain, and where to lose, beside chance."""
    columns = [(cells.combination, each) for cells in groups for each in cells.columns()]
    changed = [
        f"on `{each.measure}` of `{combination}` it {moved(each.change)}"
        for combination, each in columns
        if each.change.low > 0 or each.change.high < 0
    ]
    said = f"Of the {len(columns)} changes after a random reward, {len(changed) or 'none'} "
    if not changed:
        return f"{said}has an interval on one side of zero."
    verb = "has an interval" if len(changed) == 1 else "have intervals"
    chance = f"(by chance {_by_chance(len(columns))} would)"
    return f"{said}{verb} on one side of zero {chance}: {listed(changed)}."


def _by_chance(intervals: int) -> str:
    """How many of so many intervals lie on one side of zero where nothing changes."""
    return f"{(1 - LEVEL) * intervals:.1f}"


# --- docs/results.md ------------------------------------------------------------------------------


def opening(found: Stored) -> str:
    """What was run, and on what."""
    return paragraph(
        (
            f"`{found.study}` repeats the study `mini` over {seeds(found)} seeds of base model, "
            f"training data and rollouts: {found.steps} steps of {found.prompts} prompts x "
            f"{found.rollouts} completions each. These results were made on: {made_on(found)}.",
        )
    )


def what_holds(found: Stored) -> str:
    """Which changes hold over seeds and which do not, group by group."""
    looked = sum(len(each.columns()) for each in cells_of(found))
    groups = [each for each in cells_of(found) if each.arm == "random"]
    answer = (
        f"In validation at the last step, {each.called} {moved(each.changes[LAST].change)}."
        for each in cells_of(found)
        if each.arm in ("grpo", "random")
    )
    return (
        f"{paragraph((*answer, _of_random(groups)))}\n"
        f"{summary_head(found)}\n\n{changes_table(found)}\n"
        + paragraph(
            (
                f"The {looked} intervals are not corrected for their number: if nothing changed, "
                f"{_by_chance(looked)} of them would lie on one side of zero by chance.",
            )
        )
    )


def summary_head(found: Stored) -> str:
    """What the table of changes shows."""
    return f"Change of accuracy in points, mean over {seeds(found)} seeds and 95 % interval:"
