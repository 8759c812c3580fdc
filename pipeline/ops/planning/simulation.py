"""When each stage of a study would run: cells in their order, side by side where there is room."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pipeline.config.params import Params, TrainedCell, before
from pipeline.ops.planning.cells import PlannedCell, has_weights
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


def best_fit(free: Sequence[int], nodes: int, each: int) -> list[int]:
    """The fullest nodes with room for ``each``, so many of them; empty without room.

    Args:
        free: What is free on each node.
        nodes: How many nodes are taken.
        each: What is taken of each.
    """
    fits = sorted((n for n in range(len(free)) if free[n] >= each), key=free.__getitem__)
    return fits[:nodes] if len(fits) >= nodes else []


def makespan(cells: Sequence[PlannedCell], cluster: ClusterFile) -> float:
    """The hours until the last stage of all cells ends, as the driver starts them.

    The first cell that waits and has room is started first. A cell's training waits for that of the
    cell whose weights it takes. Up to the size of a node a stage takes one node, beyond it whole
    ones, as a placement group of Ray that packs each of its parts onto a node does. Every stage
    fits into an empty pool.
    """
    free = {name: [pool.gpus] * pool.nodes for name, pool in cluster.pools.items()}
    keys, behind = {cell.key for cell in cells}, defaultdict[str | None, set[int]](set)
    for number, cell in enumerate(cells):
        behind[cell.plan.of if cell.plan.of in keys else None].add(number)
    stages = [list(cell.stages.values()) for cell in cells]
    waiting, ended, now = behind[None], Counter[int](), 0.0
    running: list[tuple[float, int, list[int], int]] = []
    while waiting or running:
        full: set[tuple[str, int]] = set()
        for number in sorted(waiting):
            pool, stage = cells[number].pool, stages[number][ended[number]]
            size = cluster.pools[pool].gpus
            if (pool, stage.gpus) in full:
                continue
            each = min(stage.gpus, size)
            nodes = best_fit(free[pool], -(-stage.gpus // size), each)
            if not nodes:
                full.add((pool, stage.gpus))
                continue
            waiting.remove(number)
            for node in nodes:
                free[pool][node] -= each
            heapq.heappush(running, (now + stage.hours, number, nodes, each))
        now, number, nodes, each = heapq.heappop(running)
        for node in nodes:
            free[cells[number].pool][node] += each
        ended[number] += 1
        if ended[number] == 1:
            waiting |= behind[cells[number].key]
        if ended[number] < len(stages[number]):
            waiting.add(number)
    return now
