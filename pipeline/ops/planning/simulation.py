"""When each stage of a study would run: cells in their order, side by side where there is room."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Driver:
    """What waits by the room that it takes, what runs, and the clock."""

    tasks: Sequence[Task]
    cluster: ClusterFile
    free: dict[str, list[int]]
    now: float = 0.0
    ready: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    running: list[tuple[float, int, list[int], int]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    behind: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Sequence[Task], cluster: ClusterFile) -> _Driver:
        free = {name: [pool.gpus] * pool.nodes for name, pool in cluster.pools.items()}
        driver = cls(tasks, cluster, free, ended=[0] * len(tasks))
        keys = {task.key for task in tasks}
        for number, task in enumerate(tasks):
            if task.of in keys:
                driver.behind.setdefault(str(task.of), []).append(number)
            else:
                driver.wait(number)
        return driver

    def wait(self, number: int) -> None:
        """Have the next stage of a cell wait for room."""
        task = self.tasks[number]
        stage = task.stages[self.ended[number]]
        heapq.heappush(self.ready.setdefault((task.pool, stage.gpus), []), number)

    def start(self) -> None:
        """Start every stage that waits and has room, in the order of the cells."""
        for number, pool, gpus, nodes in iter(self._next, None):
            heapq.heappop(self.ready[pool, gpus])
            each = min(gpus, self.cluster.pools[pool].gpus)
            for node in nodes:
                self.free[pool][node] -= each
            until = self.now + self.tasks[number].stages[self.ended[number]].hours
            heapq.heappush(self.running, (until, number, nodes, each))

    def _next(self) -> tuple[int, str, int, list[int]] | None:
        """The first cell that waits and has room, with what it takes, and the nodes for it.

        Up to the size of a node a stage takes one node, beyond it whole ones, as a placement group
        of Ray that packs each of its parts onto a node does.
        """
        sizes = {name: pool.gpus for name, pool in self.cluster.pools.items()}
        fitting = (
            (waiting[0], pool, gpus, nodes)
            for (pool, gpus), waiting in self.ready.items()
            if waiting
            and (
                nodes := best_fit(self.free[pool], -(-gpus // sizes[pool]), min(gpus, sizes[pool]))
            )
        )
        return min(fitting, default=None)

    def end(self) -> None:
        """Let the stage that ends next end."""
        self.now, number, nodes, each = heapq.heappop(self.running)
        task = self.tasks[number]
        for node in nodes:
            self.free[task.pool][node] += each
        self.ended[number] += 1
        if self.ended[number] == 1:
            for other in self.behind.get(task.key, ()):
                self.wait(other)
        if self.ended[number] < len(task.stages):
            self.wait(number)


def makespan(tasks: Sequence[Task], cluster: ClusterFile) -> float:
    """The hours until the last stage of all cells ends, as the driver starts them.

    A cell's training waits for that of the cell whose weights it takes. Every stage fits into an
    empty pool.
    """
    driver = _Driver.of(tasks, cluster)
    driver.start()
    while driver.running:
        driver.end()
        driver.start()
    return driver.now
