"""Figures as SVG text, byte for byte reproducible."""

from __future__ import annotations

from html import escape
from io import StringIO

import matplotlib
from matplotlib.figure import Figure


def svg_text(figure: Figure, alternative: str | None = None) -> str:
    """SVG text for HTML pages of any colour; ``alternative`` describes the figure in words."""
    buffer = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "tomrl", "svg.fonttype": "none"}):
        metadata = {"Date": None, "Creator": None}
        figure.savefig(buffer, format="svg", metadata=metadata, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    if alternative is None:
        return text
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alternative)}"', 1)
