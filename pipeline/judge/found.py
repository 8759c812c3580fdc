"""Statistical power of a verdict.

``undecided`` means little without it. Each test's power is that of the score test which Wilson's
interval inverts, for independent answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from scipy import special  # type: ignore[import-untyped]

from pipeline.evaluate.statistics import LEVEL

POWER = 0.8
"""Probability of detection."""

_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """The least accuracy, and agreement with a rule, that are detected with chance ``POWER``."""

    beliefs: float | None
    rule: float | None

    def as_json(self) -> dict[str, float | None]:
        return {"beliefs": self.beliefs, "rule": self.rule}


@dataclass(frozen=True, slots=True)
class Test:
    """A share of ``count`` answers is above a threshold, by its whole interval if ``surely``."""

    count: int
    above: float
    surely: bool = True

    def passes(self, accuracy: float) -> float:
        """Probability that answers of this accuracy pass."""
        sure = special.ndtri((1 + LEVEL) / 2) if self.surely else 0.0
        reach = sure * (self.above * (1 - self.above) / self.count) ** 0.5
        spread = max(1e-9, (accuracy * (1 - accuracy) / self.count) ** 0.5)
        return float(special.ndtr((accuracy - self.above - reach) / spread))


def least(tests: Sequence[Test]) -> float | None:
    """The smallest accuracy at which all tests pass with probability ``POWER``, if any."""
    for step in range(_STEPS // 2, _STEPS + 1):
        accuracy = step / _STEPS
        if tests and prod(test.passes(accuracy) for test in tests) >= POWER:
            return accuracy
    return None


def could_be_found(found: Mapping[str, float | None]) -> str:
    """The detectable effects in words, from :meth:`Found.as_json`."""
    beliefs, rule = found["beliefs"], found["rule"]
    if beliefs is None and rule is None:
        return "these questions can show neither beliefs nor a rule"
    of_beliefs = "" if beliefs is None else f"beliefs from {beliefs:.0%} right answers"
    of_rule = "" if rule is None else f"a rule from {rule:.0%} of its answers"
    shown = " and ".join(filter(None, (of_beliefs, of_rule)))
    said = f"with probability {POWER:g} these questions would show {shown}"
    if of_beliefs and of_rule:
        return said
    return f"{said}; they cannot show {'a rule' if of_beliefs else 'beliefs'}"


def findable(found: Mapping[str, float | None]) -> str:
    """The detectable effects in short: "beliefs from 66%, rule from 60%"."""
    parts = [f"{what} from {share:.0%}" for what, share in found.items() if share is not None]
    return ", ".join(parts) or "nothing"
