"""Figures as SVG text, with the same bytes for the same numbers."""

from __future__ import annotations

from io import StringIO

import matplotlib
from matplotlib.figure import Figure


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG text that can stand inside an HTML page."""
    buffer = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "tomrl", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
