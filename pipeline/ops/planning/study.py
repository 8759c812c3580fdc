"""The plan of a whole study: its cells on a cluster, and when the last of them is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.params import Params
from pipeline.ops.planning.cells import (
    CellPlan,
    PlannedCell,
    StagePlan,
    base_hours,
    has_weights,
    plan_cells,
)
from pipeline.ops.planning.cluster import ClusterFile
from pipeline.ops.planning.simulation import in_order, makespan
from pipeline.train.accelerators import GIB
from pipeline.train.shapes import shape_of

_REPORT_HOURS = 0.05
"""Of the stage that waits for all cells. Assumed; it takes no accelerator."""


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study.

    Attributes:
        cells: Its cells in the study's order.
        cluster: Where they run.
        longest: Hours of the longest cell, with the trainings before it.
        scheduled: Hours until all cells are done, as ``tomrl run`` starts them.
        around: Hours of what comes before and after all cells.
        written_gb: GB of checkpoints that all trainings write.
        disk_gb: GB at most: what is left behind, and checkpoints of what trains at once.
        unplanned: Cells of models behind an address.
    """

    cells: tuple[PlannedCell, ...]
    cluster: ClusterFile
    longest: float
    scheduled: float
    around: float
    written_gb: float
    disk_gb: float
    unplanned: tuple[str, ...]

    @property
    def makespan(self) -> float:
        return self.scheduled + self.around

    @property
    def in_use(self) -> float:
        """The accelerators in use over those of the cluster, while cells run."""
        paid = sum(pool.accelerators for pool in self.cluster.pools.values()) * self.scheduled
        return self.gpu_hours / paid if paid else 1.0

    @property
    def gpu_hours(self) -> float:
        return sum(cell.gpu_hours for cell in self.cells)

    @property
    def cost(self) -> float:
        return sum(map(self.cost_of, self.cells))

    @property
    def cost_held(self) -> float:
        """Dollars for the whole cluster until all is done."""
        pools = self.cluster.pools.values()
        return self.makespan * sum(pool.accelerators * pool.price for pool in pools)

    def cost_of(self, cell: PlannedCell) -> float:
        return cell.gpu_hours * self.cluster.pools[cell.pool].price

    def as_json(self) -> dict[str, Any]:
        """It for machines."""
        return {
            "cells": [self._cell_as_json(cell) for cell in self.cells],
            "gpu_hours": round(self.gpu_hours, 4),
            "makespan_hours": round(self.makespan, 4),
            "in_use": round(self.in_use, 4),
            "longest_cell_hours": round(self.longest, 4),
            "cost": round(self.cost, 2),
            "cost_of_cluster": round(self.cost_held, 2),
            "disk_gb": round(self.disk_gb, 3),
            "written_gb": round(self.written_gb, 3),
            "cost_of_writing": round(self.written_gb * self.cluster.write_price, 2),
            "not_planned": list(self.unplanned),
        }

    def _cell_as_json(self, cell: PlannedCell) -> dict[str, Any]:
        return {
            "cell": cell.key,
            "after": cell.plan.of,
            "pool": cell.pool,
            "gpus": cell.main.gpus,
            "memory_gb": round(cell.main.memory / GIB, 2),
            "hours": {name: round(value, 4) for name, value in cell.hours.items()},
            "gpu_hours": round(cell.gpu_hours, 4),
            "cost": round(self.cost_of(cell), 2),
            "disk_gb": round(cell.plan.kept / 1e9, 3),
            "disk_gb_while_training": round(cell.plan.passing / 1e9, 3),
            "measured": list(cell.measured),
        }


def plan_study(params: Params, cluster: ClusterFile, root: Path) -> StudyPlan:
    """Plan a study.

    Args:
        params: The expanded study.
        cluster: Where it would run.
        root: The checkout, whose data and measured times are used where they are there.

    Raises:
        UserError: If a cell fits nowhere, or the study does not say how much it trains on.
    """
    plans = plan_cells(params, cluster, root)
    pools = _spread(plans, cluster)
    cells = tuple(PlannedCell(plan, pools[plan.key]) for plan in plans)
    by_key = {cell.key: cell for cell in cells}
    started = [by_key[key] for key in in_order(params, by_key)]
    return StudyPlan(
        cells=cells,
        cluster=cluster,
        longest=_longest(cells),
        scheduled=makespan(started, cluster),
        around=base_hours(params, cluster) + _REPORT_HOURS,
        written_gb=sum(cell.plan.written for cell in cells) / 1e9,
        disk_gb=(_base_bytes(params) + _most_at_once(cells, cluster)) / 1e9,
        unplanned=tuple(key for key in params.cells if key not in pools),
    )


def _spread(cells: list[CellPlan], cluster: ClusterFile) -> dict[str, str]:
    """The pool of each cell.

    The largest cell goes first, each to the pool that would be done with it soonest.
    """
    found: dict[str, str] = {}
    load = dict.fromkeys(cluster.pools, 0.0)
    for cell in sorted(cells, key=lambda cell: -min(map(_work, cell.pools.values()))):
        after = {
            pool: load[pool] + _work(stages) / cluster.pools[pool].accelerators
            for pool, stages in cell.pools.items()
        }
        ends = {pool: max(after[pool], _chain(cell.pools[pool])) for pool in after}
        found[cell.key] = pool = min(ends, key=ends.__getitem__)
        load[pool] = after[pool]
    return found


def _longest(cells: tuple[PlannedCell, ...]) -> float:
    by_key = {cell.key: cell for cell in cells}

    def trained(key: str | None) -> float:
        """The hours until the weights of a cell are there."""
        cell = by_key.get(key or "")
        return 0.0 if cell is None else cell.hours.get("train", 0.0) + trained(cell.plan.of)

    return max((_chain(cell.stages) + trained(cell.plan.of) for cell in cells), default=0.0)


def _chain(stages: Mapping[str, StagePlan]) -> float:
    return sum(stage.hours for stage in stages.values())


def _work(stages: Mapping[str, StagePlan]) -> float:
    return sum(stage.work for stage in stages.values())


def _base_bytes(params: Params) -> int:
    """The bytes of the base models, in bfloat16."""
    models = (entry.model for entry in params.base.values())
    return sum(2 * shape_of(each).parameters for each in models if has_weights(each))


def _most_at_once(cells: tuple[PlannedCell, ...], cluster: ClusterFile) -> int:
    """The bytes that cells leave behind, and of the largest checkpoints that fit side by side."""
    free = {name: pool.accelerators for name, pool in cluster.pools.items()}
    passing = 0
    for cell in sorted(cells, key=lambda cell: -cell.plan.passing):
        if "train" in cell.stages and cell.main.gpus <= free[cell.pool]:
            free[cell.pool] -= cell.main.gpus
            passing += cell.plan.passing
    return sum(cell.plan.kept for cell in cells) + passing
