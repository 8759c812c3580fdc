"""The DVC stages of a study by purpose, and those out of date."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import yaml

from pipeline.config.models import TinyModel
from pipeline.config.params import Params, TrainedCell
from pipeline.ops.driver.checkout import ask_dvc
from pipeline.ops.driver.mend import mend_dvc
from pipeline.ops.planning.simulation import in_order, way

_BASES, _CELLS = "${models}", "${cells}"


@dataclass(frozen=True)
class Graph:
    """The stages of ``dvc.yaml``: shared, for each model, for each cell, and after all cells."""

    shared: tuple[str, ...]
    models: tuple[str, ...]
    cell: tuple[str, ...]
    last: tuple[str, ...]

    @classmethod
    def of(cls, root: Path) -> Graph:
        stages = yaml.safe_load((root / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
        each = {name: entry.get("foreach") for name, entry in stages.items()}
        models = tuple(name for name, over in each.items() if over == _BASES)
        cell = tuple(name for name, over in each.items() if over == _CELLS)
        names = list(each)
        end = max((names.index(name) for name in cell), default=len(names))
        made = {*models, *cell}
        shared = tuple(name for name in names[:end] if name not in made)
        return cls(shared, models, cell, tuple(names[end + 1 :]))

    def of_cell(self, key: str) -> list[str]:
        return [f"{name}@{key}" for name in self.cell]

    def of_models(self, params: Params) -> list[str]:
        return [f"{name}@{key}" for name in self.models for key in params.base]

    def cells_left(self, params: Params, changed: Collection[str]) -> list[str]:
        """The unfinished cells, in the order in which to start them.

        Each comes after the cell whose weights it takes, and counts as unfinished with it.
        """
        own = {key for key in params.cells if not set(self.of_cell(key)).isdisjoint(changed)}
        return in_order(params, (k for k in params.cells if not own.isdisjoint(way(params, k))))


def runs_on_cores(params: Params) -> bool:
    """No cell needs an accelerator: models are tiny, and trained here."""
    tiny = all(isinstance(entry.model, TinyModel) for entry in params.base.values())
    cells = [cell for cell in params.cells.values() if isinstance(cell, TrainedCell)]
    return tiny and all(cell.train.backend == "local" for cell in cells)


def changed_stages(root: Path) -> set[str]:
    """The stages that DVC would run now, without those that depend on them."""
    mend_dvc(root)
    return set(json.loads(ask_dvc(root, "--wait-for-lock", "status", "--json") or "{}"))
