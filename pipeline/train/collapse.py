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
        return (
            f"reasoning collapse at step {self.step}: median response length "
            f"{self.start_length:.1f} -> {self.length:.1f} tokens while training accuracy rose "
            f"{self.start_accuracy:.0%} -> {self.accuracy:.0%}"
        )


def find_collapse(curve: Sequence[Figures]) -> Collapse | None:
    """The first step with median length below half its start and accuracy above its start.

    ``curve`` has ``length_median`` and ``accuracy`` from step 1 on.
    """
    steps = [row for row in curve if "length_median" in row and "accuracy" in row]
    for end in range(2 * _WINDOW, len(steps) + 1):
        if found := _collapse(steps[:_WINDOW], steps[end - _WINDOW : end]):
            return found
    return None


def _collapse(start: Sequence[Figures], end: Sequence[Figures]) -> Collapse | None:
    start_length = fmean(row["length_median"] for row in start)
    start_accuracy = fmean(row["accuracy"] for row in start)
    length = fmean(row["length_median"] for row in end)
    accuracy = fmean(row["accuracy"] for row in end)
    if length < _SHARE * start_length and accuracy > start_accuracy:
        return Collapse(int(end[-1]["step"]), start_length, length, start_accuracy, accuracy)
    return None
