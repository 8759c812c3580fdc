"""Numbers in words and percent."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(share: float | None) -> str:
    """A share in percent with one decimal, or a dash."""
    return "-" if share is None else f"{100 * share:.1f}"


def points(value: float, low: float, high: float) -> str:
    """A change of a share in points with its interval: ``+1.0 (-0.5 to +2.5)``."""
    return f"{100 * value:+.1f} ({ends(low, high)})"


def ends(low: float, high: float) -> str:
    return f"{100 * low:+.1f} to {100 * high:+.1f}"
