"""In what order the DVC stages of a study run, and which of them would run now."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import dropwhile
from pathlib import Path

from pipeline.config.models import TinyModel
from pipeline.config.params import AskedCell, Params, TrainedCell
from pipeline.ops.driver.checkout import ask_dvc
from pipeline.ops.driver.mend import mend_dvc

CELL_STAGES = ("train", "evaluate", "judge", "gsm8k")
"""The stages of a cell, in order."""


def stage_names(params: Params) -> list[str]:
    """Return the DVC stages of a study in an order that respects their dependencies."""
    return [
        "code",
        "expand",
        *(f"acquire@{key}" for key in params.acquire),
        "sources",
        *(f"dataset@{key}" for key in params.dataset),
        "suite",
        "audit",
        *(f"base@{key}" for key in params.base),
        *(stage for key in params.cells for stage in stages_of(key)),
        "report",
    ]


def stages_left(params: Params, changed: Collection[str]) -> list[str]:
    """Return the stages that may have something to do, in order.

    What one stage changes can reach what comes after it in its cell, and in cells that ask the
    model of that; what cells share can reach everything after it.

    Args:
        params: The study.
        changed: The stages that ``dvc status`` names.
    """
    everything = stage_names(params)
    of_cells = {stage for key in params.cells for stage in stages_of(key)}
    shared = [stage for stage in everything[:-1] if stage not in of_cells]
    for stage in shared:
        if stage in changed:
            return everything[everything.index(stage) :]
    left: dict[str, list[str]] = {}
    for key, cell in params.cells.items():
        asks = isinstance(cell, AskedCell) and cell.of in left
        stages = list(dropwhile(lambda stage: stage not in changed, stages_of(key)))
        if asks or stages:
            left[key] = stages_of(key) if asks else stages
    found = [stage for stages in left.values() for stage in stages]
    return [*found, "report"] if found or "report" in changed else []


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
