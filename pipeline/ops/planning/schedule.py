"""List scheduling: what runs where and when, and what no schedule could beat.

Whenever accelerators are free, the ready task goes first whose way to the end is longest (its own
hours and those of the longest chain after it). Tasks of one kind of need wait in one queue, so that
ten thousand cells take seconds.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import islice


@dataclass(frozen=True, slots=True)
class Need:
    """What a task takes in one pool.

    Attributes:
        gpus: Accelerators on each node that it takes; 0 for what runs beside everything.
        nodes: Nodes.
        hours: How long it runs there.
    """

    gpus: int
    nodes: int
    hours: float

    @property
    def work(self) -> float:
        """Return its accelerator-hours."""
        return self.gpus * self.nodes * self.hours


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work.

    Attributes:
        name: Its name, such as ``train@qwen25-7b-hi``.
        needs: What it takes, by the pools in which it fits; at least one.
        after: Tasks that must have ended.
    """

    name: str
    needs: Mapping[str, Need]
    after: tuple[str, ...] = ()

    @property
    def hours(self) -> float:
        """Return how long it runs where it is fastest."""
        return min(need.hours for need in self.needs.values())


@dataclass(frozen=True, slots=True)
class Room:
    """Nodes of a pool.

    Attributes:
        nodes: How many.
        gpus: Accelerators of each.
        speed: Of one accelerator, in any unit that all pools share.
    """

    nodes: int
    gpus: int
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where and when a task runs, in hours from the start."""

    task: Task
    pool: str
    start: float
    end: float

    @property
    def need(self) -> Need:
        """Return what it takes there."""
        return self.task.needs[self.pool]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule and its bounds, in hours.

    Attributes:
        placed: Its tasks in the order in which they start.
        makespan: When the last one ends.
        critical_path: The longest chain of tasks, each where it is fastest.
        shared_work: All work, spread over all accelerators by their speed.
    """

    placed: tuple[Placed, ...]
    makespan: float
    critical_path: float
    shared_work: float

    @property
    def lower_bound(self) -> float:
        """Return what no schedule on this cluster can beat."""
        return max(self.critical_path, self.shared_work)


class _Nodes:
    """The free accelerators of a pool's nodes."""

    def __init__(self, room: Room) -> None:
        self._free = [room.gpus] * room.nodes
        # Dictionaries without values, as sets that keep their order: plans are the same every time.
        self._by_free: list[dict[int, None]] = [{} for _ in range(room.gpus + 1)]
        self._by_free[room.gpus] = dict.fromkeys(range(room.nodes))

    def take(self, need: Need) -> list[int] | None:
        """Take what a task needs, of the fullest nodes that have it; None if there is no room."""
        found: list[int] = []
        for nodes in self._by_free[need.gpus :]:
            found += islice(nodes, need.nodes - len(found))
        if len(found) < need.nodes:
            return None
        for node in found:
            self._change(node, -need.gpus)
        return found

    def give_back(self, taken: Sequence[int], need: Need) -> None:
        """Give back what a task has taken."""
        for node in taken:
            self._change(node, need.gpus)

    def _change(self, node: int, gpus: int) -> None:
        del self._by_free[self._free[node]][node]
        self._free[node] += gpus
        self._by_free[self._free[node]][node] = None


class _Ready:
    """Tasks that may start: a queue for each kind of need, the longest way to the end first."""

    def __init__(self, to_end: Mapping[str, float]) -> None:
        self._to_end = to_end
        self._queues: dict[object, list[tuple[float, str, Task]]] = defaultdict(list)

    def add(self, task: Task) -> None:
        """Add a task."""
        kind = tuple((pool, need.gpus, need.nodes) for pool, need in task.needs.items())
        heapq.heappush(self._queues[kind], (-self._to_end[task.name], task.name, task))

    def start(self, nodes: Mapping[str, _Nodes]) -> Iterator[tuple[Task, str, list[int]]]:
        """Yield the tasks for which there is room, with their pool and their nodes there."""
        open_kinds = {kind for kind, queue in self._queues.items() if queue}
        while open_kinds:
            kind = min(open_kinds, key=lambda kind: self._queues[kind][0][:2])
            queue = self._queues[kind]
            task = queue[0][2]
            found = _room_for(task, nodes)
            if found is None:
                open_kinds.remove(kind)
                continue
            heapq.heappop(queue)
            if not queue:
                open_kinds.remove(kind)
            yield task, *found


def _room_for(task: Task, nodes: Mapping[str, _Nodes]) -> tuple[str, list[int]] | None:
    """Take room for a task in the pool where it is fastest of those that have it."""
    for pool in sorted(task.needs, key=lambda pool: task.needs[pool].hours):
        taken = nodes[pool].take(task.needs[pool])
        if taken is not None:
            return pool, taken
    return None


def schedule(tasks: Sequence[Task], rooms: Mapping[str, Room]) -> Schedule:
    """Return a schedule.

    Args:
        tasks: They name each other in ``after``, without a circle, and fit in the pools they name.
        rooms: The pools.
    """
    followers: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        for earlier in task.after:
            followers[earlier].append(task)
    to_end = _hours_to_end(tasks, followers)
    placed = _placed(tasks, followers, rooms, to_end)
    return Schedule(
        placed=tuple(placed),
        makespan=max((each.end for each in placed), default=0.0),
        critical_path=max(to_end.values(), default=0.0),
        shared_work=_shared_work(tasks, rooms),
    )


def _placed(
    tasks: Sequence[Task],
    followers: Mapping[str, Sequence[Task]],
    rooms: Mapping[str, Room],
    to_end: Mapping[str, float],
) -> list[Placed]:
    """Return where and when tasks run, in the order in which they start."""
    waiting = {task.name: len(task.after) for task in tasks}
    nodes = {name: _Nodes(room) for name, room in rooms.items()}
    ready, now = _Ready(to_end), 0.0
    running: list[tuple[float, int, list[int]]] = []
    placed: list[Placed] = []
    for task in tasks:
        if not task.after:
            ready.add(task)
    while True:
        for task, pool, taken in ready.start(nodes):
            placed.append(Placed(task, pool, now, now + task.needs[pool].hours))
            heapq.heappush(running, (placed[-1].end, len(placed) - 1, taken))
        if not running:
            return placed
        now = running[0][0]
        while running and running[0][0] <= now:
            _, place, taken = heapq.heappop(running)
            ended = placed[place]
            nodes[ended.pool].give_back(taken, ended.need)
            for task in followers.get(ended.task.name, ()):
                waiting[task.name] -= 1
                if not waiting[task.name]:
                    ready.add(task)


def _shared_work(tasks: Sequence[Task], rooms: Mapping[str, Room]) -> float:
    """Return the hours that all accelerators together take, at the least.

    In a schedule of T hours, the work in a pool is at most T times its accelerators. Weighted with
    the pools' speeds and summed, that bounds T, as each task counts at least its smallest share.
    """
    capacity = sum(room.nodes * room.gpus * room.speed for room in rooms.values())
    work = sum(
        min(need.work * rooms[pool].speed for pool, need in task.needs.items()) for task in tasks
    )
    return work / capacity


def _hours_to_end(
    tasks: Sequence[Task], followers: Mapping[str, Sequence[Task]]
) -> dict[str, float]:
    """Return the hours of each task and of the longest chain after it."""
    found: dict[str, float] = {}
    order = TopologicalSorter({task.name: task.after for task in tasks}).static_order()
    by_name = {task.name: task for task in tasks}
    for name in reversed(list(order)):
        later = (found[task.name] for task in followers.get(name, ()))
        found[name] = by_name[name].hours + max(later, default=0.0)
    return found
