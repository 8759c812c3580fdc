"""Stall: all advantages are zero, so nothing is learned.

If all completions of a prompt earn the same, group-relative advantages are zero. It happens when a
policy has every answer right, or has lost the right ones: then no step leads back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean

from pipeline.formats.records import Figures

SPREAD = "advantage_std"
_FEWEST = 3  # steps; a single one is chance


@dataclass(frozen=True)
class Stall:
    """A stall to the end of training: its first step, and accuracy from there on."""

    step: int
    accuracy: float

    def describe(self) -> str:
        return (
            f"stall at step {self.step}: from there on all completions of a prompt earn the same, "
            f"with {self.accuracy:.0%} of the answers right, and nothing is learned; a lower "
            "train.learning_rate or a train.kl_coefficient keeps a policy nearer to its start"
        )


def find_stall(curve: Sequence[Figures]) -> Stall | None:
    """The stall that lasts to the last step, if any; steps without advantages are ignored."""
    steps = [row for row in curve if SPREAD in row]
    still = [*takewhile(lambda row: row[SPREAD] == 0, reversed(steps))]
    if len(still) < _FEWEST:
        return None
    return Stall(int(still[-1]["step"]), fmean(row["accuracy"] for row in still))
