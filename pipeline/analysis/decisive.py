"""The figure that matters: accuracy where a rule is wrong, against where it is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.analysis.results import CellResult, Results
from pipeline.judge.profile import FEWEST as FEWEST_ITEMS

MOST_NAMED = 8
"""Points of a panel that bear their names; more are told by colour and shape, and by pointing at
them, with the mouse or the keyboard."""

_NAME_HEIGHT = 0.06  # of a panel


@dataclass(frozen=True, slots=True)
class Point:
    """A cell in a panel; shares from 0 to 1.

    Attributes:
        cell: Its key.
        combination: What it was trained on; empty for a model that was not trained.
        right: Accuracy where the rule is right.
        wrong: Accuracy where it is wrong.
        reach: The ends of the intervals of ``right``, then of ``wrong``.
        before: Both shares of the base model; None for a model that was not trained.
    """

    cell: str
    combination: str
    right: float
    wrong: float
    reach: tuple[float, float, float, float]
    before: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One task.

    Attributes:
        task: Its name.
        rule: The rule that parts the answers of some cell the most.
        points: The cells that were asked.
    """

    task: str
    rule: str
    points: tuple[Point, ...]

    def names(self) -> dict[str, float]:
        """The height at which each cell's name stands, as a share; none is on another."""
        if len(self.points) > MOST_NAMED:
            return {}
        heights: dict[str, float] = {}
        below = 1.0 + _NAME_HEIGHT
        for point in sorted(self.points, key=lambda each: -each.wrong):
            below = min(point.wrong, below - _NAME_HEIGHT)
            heights[point.cell] = below
        return heights


def panels(results: Results) -> list[Panel]:
    """A panel for each task on which rules are right of some questions and wrong of others.

    Its rule is the one that parts the answers of some cell the most: right where the rule is, wrong
    where it is not.
    """
    tasks = dict.fromkeys(task for cell in results.cells.values() for task in cell.verdicts)
    return [panel for task in tasks if (panel := _panel(results, task)) is not None]


def _panel(results: Results, task: str) -> Panel | None:
    shares = {key: _shares(cell, task) for key, cell in results.cells.items()}
    gaps = [(of_rule.gap, rule) for of in shares.values() for rule, of_rule in of.items()]
    if not gaps:
        return None
    _, rule = max(gaps)
    return Panel(task, rule, tuple(_points(results, rule, shares)))


def _points(
    results: Results, rule: str, shares: Mapping[str, Mapping[str, _Shares]]
) -> Iterator[Point]:
    for key, result in results.cells.items():
        if own := shares[key].get(rule):
            combination = result.cell.combination
            base = None if combination is None else results.base_of(result).key
            before = None if base is None else shares[base].get(rule)
            yield Point(
                cell=key,
                combination=combination or "",
                right=own.right["value"],
                wrong=own.wrong["value"],
                reach=(own.right["low"], own.right["high"], own.wrong["low"], own.wrong["high"]),
                before=(before.right["value"], before.wrong["value"]) if before else None,
            )


@dataclass(frozen=True, slots=True)
class _Shares:
    """Accuracy where a rule is right and where it is wrong, each with the ends of its interval."""

    right: Mapping[str, float]
    wrong: Mapping[str, float]

    @property
    def gap(self) -> float:
        return self.right["value"] - self.wrong["value"]


def _shares(result: CellResult, task: str) -> dict[str, _Shares]:
    """The shares by rule, where there is enough of both."""
    verdict = result.verdicts.get(task)
    found = {}
    for rule in verdict.listed if verdict else []:
        right, wrong = rule["where_right"], rule["where_wrong"]
        if all(each is not None and each["count"] >= FEWEST_ITEMS for each in (right, wrong)):
            found[str(rule["rule"])] = _Shares(right, wrong)
    return found
