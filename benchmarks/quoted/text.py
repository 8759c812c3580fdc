"""Numbers, lists and tables as pages write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from benchmarks.stored import Stored, Verdict

LINE = 112
"""Characters of a line of text."""

_UNBROKEN = "\0"
"""Stands for a space at which no line ends: a number and its % stay together."""


def whole(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f}"


def with_ends(found: Mapping[str, float]) -> str:
    """A share with the ends of its interval: ``72 % (53 to 85)``."""
    return f"{whole(found['value'])} % ({whole(found['low'])} to {whole(found['high'])})"


def follows(found: Verdict) -> str:
    """What the answers of a cell follow, in brackets by which rule or mind."""
    return f"{found.answers} ({found.by})" if found.by else found.answers


def follows_briefly(found: Verdict) -> str:
    """As :func:`follows`; of a learned rule only that it is learned."""
    by = found.by or ""
    short = by.split(",")[0] if by.startswith("learned rule") else by
    return f"{found.answers} ({short})" if short else found.answers


def listed(texts: Sequence[str]) -> str:
    """Texts as a list in a sentence: ``a, b and c``."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def table(lines: Iterable[Sequence[str]], numbers: int) -> str:
    """A Markdown table; its last columns are numbers.

    Args:
        lines: The headings, then the rows.
        numbers: Columns of numbers.
    """
    head, *rows = lines
    rule = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))


def paragraph(sentences: Iterable[str]) -> str:
    """Sentences as a paragraph, in lines that people can compare."""
    text = " ".join(" ".join(sentences).split()).replace(" %", f"{_UNBROKEN}%")
    lines = fill(text, LINE, break_long_words=False, break_on_hyphens=False)
    return lines.replace(_UNBROKEN, " ") + "\n"


def made_on(found: Stored) -> str:
    """What results were made on."""
    return made_by(found.commit, found.processor, found.libraries)


def made_by(commit: str, processor: str, libraries: Mapping[str, str]) -> str:
    """A commit, a processor or accelerator, and libraries with their versions."""
    versions = listed([f"{name} {version}" for name, version in libraries.items()])
    return f"commit {commit}, {processor}, {versions}"
