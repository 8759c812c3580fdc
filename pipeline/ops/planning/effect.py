"""How many questions, stories and seeds it takes to find a change of accuracy.

By the normal approximation of the tests that the report makes: paired by question and clustered by
story for one trained model, Student's t over seeds for what a training does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from scipy import special  # type: ignore[import-untyped]

from pipeline.base.errors import UserError
from pipeline.evaluate.statistics import LEVEL

POWER = 0.8
TURNED = 0.35
"""Share of the answers that turn in training, one way or the other."""

PER_STORY = 2.0
TOGETHER = 0.2
"""Questions about one story, and the correlation of their changes."""

SEED_POINTS = 7.0
"""Standard deviation of a change over seeds of one training, in points."""

ASSUMPTIONS = (
    f"{TURNED:.0%} of the answers turn, {PER_STORY:g} questions a story whose changes correlate by "
    f"{TOGETHER:g}, and seeds differ by {SEED_POINTS:g} points (standard deviation)"
)
_MOST_SEEDS = 10_000


@dataclass(frozen=True, slots=True)
class Needed:
    """What it takes to find a change with probability ``POWER``.

    Attributes:
        points: The change of accuracy, in points.
        questions: Questions, for one seed.
        stories: Stories that they are about.
        seeds: Seeds, whatever the number of questions.
    """

    points: float
    questions: int
    stories: int
    seeds: int


def needed(points: float) -> Needed:
    """What it takes to find a change of so many points.

    Raises:
        UserError: If there is no such change.
    """
    if not isfinite(points) or not 0 < points <= 100:
        raise UserError(f"--effect: found {points:g}; allowed: more than 0 and at most 100 points")
    share = points / 100
    variance = max(0.0, TURNED - share**2) * _inflation()
    questions = max(2, ceil(_reach() ** 2 * variance / share**2))
    return Needed(points, questions, ceil(questions / PER_STORY), _seeds(points))


def found_by(questions: int) -> float:
    """The change, in points, that so many questions find with probability ``POWER``."""
    scale = _reach() ** 2 * _inflation() / questions
    # From share**2 = scale * (TURNED - share**2).
    return float(100 * (scale * TURNED / (1 + scale)) ** 0.5)


def _inflation() -> float:
    return 1 + (PER_STORY - 1) * TOGETHER


def _reach() -> float:
    return float(special.ndtri((1 + LEVEL) / 2) + special.ndtri(POWER))


def _seeds(points: float) -> int:
    """The smallest number of seeds whose mean change Student's t tells from none."""
    for seeds in range(2, _MOST_SEEDS):
        freedom = seeds - 1
        critical = special.stdtrit(freedom, (1 + LEVEL) / 2)
        away = points / SEED_POINTS * seeds**0.5
        if 1 - special.nctdtr(freedom, away, critical) >= POWER:
            return seeds
    return _MOST_SEEDS
