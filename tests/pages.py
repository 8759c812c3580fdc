"""The pages of the documentation, and their blocks."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import PROJECT

PAGES = (PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each block; the language is mostly empty."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))
