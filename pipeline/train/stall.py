"""Stall: no advantage differs from zero any more, so nothing is learned.

Where all completions of a prompt earn the same, group-relative advantages are zero. It comes about
where a policy has every answer right, and where it has lost the right ones: from there no step
leads back.
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
    """Where training stood still to its end.

    Attributes:
        step: The first step from which on no advantage differs from zero.
        accuracy: Share of right answers from there on.
    """

    step: int
    accuracy: float

    def describe(self) -> str:
        """The alarm in one sentence."""
        return (
            f"stall at step {self.step}: from there on all completions of a prompt earn the same, "
            f"with {self.accuracy:.0%} of the answers right, and nothing is learned; a lower "
            "train.learning_rate or a train.kl_coefficient keeps a policy nearer to its start"
        )


def find_stall(curve: Sequence[Figures]) -> Stall | None:
    """The stall that lasts to the last step; None without one.

    Args:
        curve: Metrics by step; those without advantages are left out.
    """
    steps = [row for row in curve if SPREAD in row]
    still = [*takewhile(lambda row: row[SPREAD] == 0, reversed(steps))]
    if len(still) < _FEWEST:
        return None
    return Stall(int(still[-1]["step"]), fmean(row["accuracy"] for row in still))
