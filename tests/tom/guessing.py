"""Answers of surface rules to questions in text."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tom.language import get_language
from pipeline.tom.shortcut import SHORTCUTS, read_surface


def guess(
    rule: str, benchmark: str, story: str, question: str, choices: Sequence[str] | None = None
) -> str | None:
    language = get_language(benchmark)
    return SHORTCUTS[rule](read_surface(language, story, question, tuple(choices or ())))
