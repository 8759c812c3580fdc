"""Drift: sampler and trainer disagree about token probabilities.

They have the same weights and round differently. Small differences alone can make training collapse
(arXiv 2605.14220); they also reveal a sampler without the new weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.formats.records import Figures

DIFFERENCE = "rollout_probs_diff_mean"
"""Mean difference of the probabilities of a step's sampled tokens."""

LIMIT = 0.01
"""Alarm threshold. Sampling and training in bfloat16 differ by about 0.003, by more than 0.01 with
a sampler in FP8.
"""

_WINDOW = 5  # steps, against noise


@dataclass(frozen=True)
class Drift:
    """The first step with too large a mean ``difference`` over the last steps."""

    step: int
    difference: float

    def describe(self) -> str:
        return (
            f"drift at step {self.step}: rollout and trainer give sampled tokens probabilities "
            f"that differ by {self.difference:.3f} on average, above {LIMIT}; "
            "truncated importance sampling helps (docs/cluster.md, What is watched)"
        )


def find_drift(curve: Sequence[Figures]) -> Drift | None:
    """The first step with a mean difference above the limit, if any."""
    steps = [row for row in curve if DIFFERENCE in row]
    for end in range(_WINDOW, len(steps) + 1):
        difference = fmean(row[DIFFERENCE] for row in steps[end - _WINDOW : end])
        if difference > LIMIT:
            return Drift(int(steps[end - 1]["step"]), difference)
    return None
