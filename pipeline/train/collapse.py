"""Reasoning collapse: accuracy rises while the reasoning disappears.

Study 1 saw it in its small models: the 1.5B model's responses shrink by 88 % while its accuracy
doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.formats.records import Figures

_WINDOW = 5  # steps averaged at the start and at each point, against sampling noise
_SHARE = 0.5


@dataclass(frozen=True)
class Collapse:
    """The first step at which responses are shorter than half their start."""

    step: int
    start_length: float
    length: float
    start_accuracy: float
    accuracy: float

    def describe(self) -> str:
        """The alarm in one sentence."""
        return (
            f"reasoning collapse at step {self.step}: median response length "
            f"{self.start_length:.1f} -> {self.length:.1f} tokens while training accuracy rose "
            f"{self.start_accuracy:.0%} -> {self.accuracy:.0%}"
        )


def find_collapse(curve: Sequence[Figures]) -> Collapse | None:
    """The first step with median length below half its start and accuracy above its start.

    Args:
        curve: Metrics by step, with ``length_median`` and ``accuracy`` from step 1 on.
    """
    steps = _steps(curve)
    ends = range(2 * _WINDOW, len(steps) + 1)
    return next((found for end in ends if (found := _collapse_at(steps[:end]))), None)


def collapse_at_end(curve: Sequence[Figures]) -> Collapse | None:
    """The collapse if it has come about by the last step, whether or not it is the first."""
    return _collapse_at(_steps(curve))


def _steps(curve: Sequence[Figures]) -> list[Figures]:
    return [row for row in curve if "length_median" in row and "accuracy" in row]


def _collapse_at(steps: Sequence[Figures]) -> Collapse | None:
    if len(steps) < 2 * _WINDOW:
        return None
    start, end = steps[:_WINDOW], steps[-_WINDOW:]
    start_length = fmean(row["length_median"] for row in start)
    start_accuracy = fmean(row["accuracy"] for row in start)
    length = fmean(row["length_median"] for row in end)
    accuracy = fmean(row["accuracy"] for row in end)
    if length < _SHARE * start_length and accuracy > start_accuracy:
        return Collapse(int(end[-1]["step"]), start_length, length, start_accuracy, accuracy)
    return None
