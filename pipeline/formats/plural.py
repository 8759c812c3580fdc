"""Numbers as people read them."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A count with its noun: ``1 cell``, ``2 cells``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(share: float | None) -> str:
    """A share in percent with one decimal; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f}"
