"""What stored results were made on: commit, processor, libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.base.git import checked_out
from pipeline.formats.provenance import installed
from pipeline.stages.followed.circumstances import processor

LIBRARIES = ("torch", "transformers", "scikit-learn", "numpy")


def circumstances_of(root: Path) -> dict[str, Any]:
    """The commit of a checkout, and this machine's processor and libraries."""
    return {
        "commit": checked_out(root)[:7],
        "processor": processor(),
        "libraries": dict(installed(*LIBRARIES)),
    }
