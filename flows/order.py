"""In what order the DVC stages of a study run, and which of them would run now."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.checkout import ask_dvc
from pipeline.config.models import TinyModel
from pipeline.config.params import Params, TrainedCell
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
        *(stage for key in params.cells for stage in stages_of(key)),
        "report",
    ]


def stages_of(key: str) -> list[str]:
    """Return the DVC stages of a cell."""
    return [f"{stage}@{key}" for stage in CELL_STAGES]


DATA_STAGE = "audit"
"""The DVC stage that, with what it depends on, makes all data."""


def base_stages(params: Params) -> list[str]:
    """Return the DVC stages that make base models; beside the data, what cells share."""
    return [f"base@{key}" for key in params.base]


def runs_on_cores(params: Params) -> bool:
    """Return whether no cell needs an accelerator: models are tiny, and trained here."""
    tiny = all(isinstance(entry.model, TinyModel) for entry in params.base.values())
    cells = [cell for cell in params.cells.values() if isinstance(cell, TrainedCell)]
    return tiny and all(cell.train.backend == "local" for cell in cells)


def changed_stages(root: Path) -> set[str]:
    """Return the stages that DVC would run now; what depends on them is not included.

    Raises:
        UserError: If DVC cannot read the pipeline.
    """
    mend_dvc(root)
    return set(json.loads(ask_dvc(root, "status", "--json") or "{}"))
