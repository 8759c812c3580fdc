"""The plan of a whole study: its cells on a cluster, from the first task to the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.params import Params
from pipeline.ops.planning.cells import REPORT_HOURS, CellPlan, base_tasks, has_weights, plan_cells
from pipeline.ops.planning.cluster import ClusterFile
from pipeline.ops.planning.schedule import Need, Placed, Room, Schedule, Task, schedule
from pipeline.train.accelerators import GIB
from pipeline.train.shapes import shape_of


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell of a plan.

    Attributes:
        key: Its key.
        pool: Where it trains, or is evaluated if it trains nothing.
        gpus: Accelerators that it takes there at once.
        memory_gb: GiB on each of them.
        hours: Of each stage.
        gpu_hours: Of all of them.
        cost: Dollars for these.
        disk_gb: GB that it leaves behind, and those of its checkpoints while it trains.
        start: Hours until it starts.
        end: Hours until it has ended.
        measured: Stages whose hours were measured on this checkout.
    """

    key: str
    pool: str
    gpus: int
    memory_gb: float
    hours: dict[str, float]
    gpu_hours: float
    cost: float
    disk_gb: tuple[float, float]
    start: float
    end: float
    measured: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for machines."""
        kept, passing = self.disk_gb
        return {
            "cell": self.key,
            "pool": self.pool,
            "gpus": self.gpus,
            "memory_gb": round(self.memory_gb, 2),
            "hours": {name: round(value, 4) for name, value in self.hours.items()},
            "gpu_hours": round(self.gpu_hours, 4),
            "cost": round(self.cost, 2),
            "disk_gb": round(kept, 3),
            "disk_gb_while_training": round(passing, 3),
            "start_hours": round(self.start, 4),
            "end_hours": round(self.end, 4),
            "measured": list(self.measured),
        }


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study.

    Attributes:
        cells: Its cells in the study's order.
        schedule: What runs where and when.
        cost_held: Dollars for the whole cluster until the last task has ended.
        disk_gb: GB at most at once: what is left behind, and checkpoints of what trains together.
        unplanned: Cells of models behind an address.
    """

    cells: tuple[PlannedCell, ...]
    schedule: Schedule
    cost_held: float
    disk_gb: float
    unplanned: tuple[str, ...]

    @property
    def gpu_hours(self) -> float:
        """Return the accelerator-hours of all cells."""
        return sum(cell.gpu_hours for cell in self.cells)

    @property
    def cost(self) -> float:
        """Return the dollars for these."""
        return sum(cell.cost for cell in self.cells)

    def as_json(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            "cells": [cell.as_json() for cell in self.cells],
            "gpu_hours": round(self.gpu_hours, 4),
            "makespan_hours": round(self.schedule.makespan, 4),
            "lower_bound_hours": round(self.schedule.lower_bound, 4),
            "critical_path_hours": round(self.schedule.critical_path, 4),
            "cost": round(self.cost, 2),
            "cost_of_cluster": round(self.cost_held, 2),
            "disk_gb": round(self.disk_gb, 3),
            "not_planned": list(self.unplanned),
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
    cells = plan_cells(params, cluster, root)
    stages = [stage.task for cell in cells for stage in cell.stages.values()]
    last = tuple(list(cell.stages.values())[-1].task.name for cell in cells)
    report = Task("report", dict.fromkeys(cluster.pools, Need(0, 1, REPORT_HOURS)), last)
    rooms = {n: Room(pool.nodes, pool.gpus, pool.speed) for n, pool in cluster.pools.items()}
    found = schedule([*base_tasks(params, cluster), *stages, report], rooms)
    placed = {each.task.name: each for each in found.placed}
    planned = tuple(_planned(cell, cluster, placed) for cell in cells)
    a_cluster_hour = sum(p.nodes * p.gpus * p.price for p in cluster.pools.values())
    known = {cell.key for cell in cells}
    return StudyPlan(
        cells=planned,
        schedule=found,
        cost_held=found.makespan * a_cluster_hour,
        disk_gb=(_base_bytes(params) + _most_at_once(cells, placed)) / 1e9,
        unplanned=tuple(key for key in params.cells if key not in known),
    )


def _planned(cell: CellPlan, cluster: ClusterFile, placed: dict[str, Placed]) -> PlannedCell:
    there = {name: placed[stage.task.name] for name, stage in cell.stages.items()}
    first = next(iter(there))
    main = there[first]
    return PlannedCell(
        key=cell.key,
        pool=main.pool,
        gpus=main.need.gpus * main.need.nodes,
        memory_gb=cell.stages[first].memory[main.pool] / GIB,
        hours={name: each.end - each.start for name, each in there.items()},
        gpu_hours=sum(each.need.work for each in there.values()),
        cost=sum(each.need.work * cluster.pools[each.pool].price for each in there.values()),
        disk_gb=(cell.kept / 1e9, cell.passing / 1e9),
        start=main.start,
        end=max(each.end for each in there.values()),
        measured=tuple(name for name, stage in cell.stages.items() if stage.measured),
    )


def _base_bytes(params: Params) -> int:
    """Return the bytes of the base models, in bfloat16."""
    models = (entry.model for entry in params.base.values())
    return sum(2 * shape_of(each).parameters for each in models if has_weights(each))


def _most_at_once(cells: list[CellPlan], placed: dict[str, Placed]) -> int:
    """Return the bytes that all cells leave behind, and the most of checkpoints at one time."""
    changes: list[tuple[float, int]] = []
    for cell in cells:
        if "train" in cell.stages:
            training = placed[f"train@{cell.key}"]
            changes += [(training.start, cell.passing), (training.end, -cell.passing)]
    now = most = 0
    for _, change in sorted(changes):  # at one time, what ends comes before what starts
        now += change
        most = max(most, now)
    return sum(cell.kept for cell in cells) + most
