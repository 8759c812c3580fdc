"""When each stage of a study would run: cells in their order, side by side where there is room."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.config.params import Params, TrainedCell, before
from pipeline.ops.planning.cells import StagePlan, has_weights
from pipeline.ops.planning.cluster import ClusterFile
from pipeline.train.shapes import shape_of


def in_order(params: Params, keys: Iterable[str]) -> list[str]:
    """Cells in the order in which they are started.

    A cell comes after the one whose weights it takes. Of equals, cells that are trained come first,
    of these the largest models: what takes longest must not be left for the end.
    """
    return sorted(keys, key=lambda key: _rank(params, key))


def _rank(params: Params, key: str) -> tuple[int, bool, int]:
    cell = params.cells[key]
    model = params.base[cell.model].model
    size = shape_of(model).parameters if has_weights(model) else 0
    return len(way(params, key)), not isinstance(cell, TrainedCell), -size


def way(params: Params, key: str) -> list[str]:
    """A cell, the one whose weights it takes, and so on, as far as they are part of the study."""
    first = before(params.cells[key])
    return [key, *(way(params, first) if first in params.cells else [])]


@dataclass(frozen=True, slots=True)
class Task:
    """A cell as it is scheduled.

    Attributes:
        key: Its key.
        of: The cell whose trained weights it takes.
        pool: Where it runs.
        stages: Its stages in their order.
    """

    key: str
    of: str | None
    pool: str
    stages: Sequence[StagePlan]


def best_fit(free: Sequence[int], nodes: int, each: int) -> list[int]:
    """The fullest nodes with room for ``each``, so many of them; empty without room.

    Args:
        free: What is free on each node.
        nodes: How many nodes are taken.
        each: What is taken of each.
    """
    fits = sorted((n for n in range(len(free)) if free[n] >= each), key=free.__getitem__)
    return fits[:nodes] if len(fits) >= nodes else []


def makespan(tasks: Sequence[Task], cluster: ClusterFile) -> float:
    """The hours until the last stage of all cells ends, as the driver starts them.

    The first cell that waits and has room is started first. A cell's training waits for that of the
    cell whose weights it takes. Up to the size of a node a stage takes one node, beyond it whole
    ones, as a placement group of Ray that packs each of its parts onto a node does. Every stage
    fits into an empty pool.
    """
    free = {name: [pool.gpus] * pool.nodes for name, pool in cluster.pools.items()}
    keys, behind = {task.key for task in tasks}, defaultdict[str | None, set[int]](set)
    for number, task in enumerate(tasks):
        behind[task.of if task.of in keys else None].add(number)
    waiting, ended, now = behind[None], Counter[int](), 0.0
    running: list[tuple[float, int, list[int], int]] = []
    while waiting or running:
        full: set[tuple[str, int]] = set()
        for number in sorted(waiting):
            task = tasks[number]
            stage, size = task.stages[ended[number]], cluster.pools[task.pool].gpus
            if (task.pool, stage.gpus) in full:
                continue
            each = min(stage.gpus, size)
            nodes = best_fit(free[task.pool], -(-stage.gpus // size), each)
            if not nodes:
                full.add((task.pool, stage.gpus))
                continue
            waiting.remove(number)
            for node in nodes:
                free[task.pool][node] -= each
            heapq.heappush(running, (now + stage.hours, number, nodes, each))
        now, number, nodes, each = heapq.heappop(running)
        task = tasks[number]
        for node in nodes:
            free[task.pool][node] += each
        ended[number] += 1
        if ended[number] == 1:
            waiting |= behind[task.key]
        if ended[number] < len(task.stages):
            waiting.add(number)
    return now
