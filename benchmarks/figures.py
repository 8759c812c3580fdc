"""What measurements share: the spread of ratios."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median


def spread(ratios: Iterable[float]) -> dict[str, float]:
    """The median of ratios, the least and the largest."""
    each = sorted(ratios)
    return {"ratio": median(each), "ratio_low": each[0], "ratio_high": each[-1]}
