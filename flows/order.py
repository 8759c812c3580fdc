"""In what order the DVC stages of a study run, and which of them would run now."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.checkout import ask_dvc
from pipeline.config.params import Params
from pipeline.leftovers import mend_dvc

CELL_STAGES = ("train", "evaluate", "judge", "gsm8k")
"""The stages of a cell, in order."""


def stage_names(params: Params) -> list[str]:
    """Return the DVC stages of a study in an order that respects their dependencies."""
    return [
        "code",
        *(f"acquire@{key}" for key in params.acquire),
        "sources",
        *(f"dataset@{key}" for key in params.dataset),
        "suite",
        "audit",
        *(f"base@{key}" for key in params.base),
        *(f"{stage}@{key}" for key in params.cells for stage in CELL_STAGES),
        "report",
    ]


def changed_stages(root: Path) -> set[str]:
    """Return the stages that DVC would run now; what depends on them is not included.

    Raises:
        UserError: If DVC cannot read the pipeline.
    """
    mend_dvc(root)
    return set(json.loads(ask_dvc(root, "status", "--json") or "{}"))
