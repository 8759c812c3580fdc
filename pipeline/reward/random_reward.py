"""A control: a reward that says nothing about the response (Shao et al. 2025, arXiv 2506.10947).

Gains under it come from elsewhere than from correctness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random, SystemRandom

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


@dataclass(frozen=True)
class RandomReward(Preset):
    """1.0 for half of the responses, drawn independently of their content.

    Attributes:
        draw: Seed of the draw, which makes a run reproducible; unpredictable if None.
    """

    draw: str | None = None

    def drawing(self, draw: str) -> RandomReward:
        return replace(self, draw=draw)

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        random = SystemRandom() if self.draw is None else Random(f"random reward:{self.draw}")
        return Earned(0.0, float(random.random() < 0.5))
