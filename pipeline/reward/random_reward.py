"""A control: a reward that says nothing about the response (Shao et al. 2025, arXiv 2506.10947).

What training gains by it comes from elsewhere than from being right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random, SystemRandom

from pipeline.reward.reward import Earned, Preset
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


@dataclass(frozen=True)
class RandomReward(Preset):
    """1.0 for half of the responses, drawn anew for each, whatever it says.

    Attributes:
        draw: Names the draw, so that it comes out the same in a run that is repeated; without a
            name nobody can foretell it.
    """

    draw: str | None = None

    def drawing(self, draw: str) -> RandomReward:
        """The preset for one response of a run."""
        return replace(self, draw=draw)

    def __call__(self, grade: Grade, example: Example, response: str) -> Earned:
        """What a response earns."""
        random = SystemRandom() if self.draw is None else Random(f"random reward:{self.draw}")
        return Earned(0.0, float(random.random() < 0.5))
