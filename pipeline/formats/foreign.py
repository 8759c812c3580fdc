"""Escaping of untrusted text for display."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

# What a terminal obeys or hides, beside the end of a line and the tab: escape sequences, null, the
# carriage return, marks that turn the direction of writing, halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Escape control characters (``\x1b``)."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def markdown_text(value: object) -> str:
    """Text on one line that cannot leave its table cell or become markup."""
    text = visible(" ".join(str(value).split()))
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def markdown_table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], right: Container[int] = ()
) -> str:
    """Rows as a Markdown table; columns with indices in ``right`` are right-aligned."""
    rule = ("---:" if place in right else "---" for place in range(len(headings)))
    lines = [map(markdown_text, line) for line in (headings, rule, *rows)]  # type: ignore[arg-type]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown_code(text: str) -> str:
    """Text as code on one line, safe in a table cell; "(empty)" for none."""
    flat = visible(" ".join(text.split())).replace("|", "\\|").replace("`", "'")
    return f"`{flat}`" if flat else "(empty)"
