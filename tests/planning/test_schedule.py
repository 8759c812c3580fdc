"""List scheduling: nothing overlaps, nothing starts early, and the bound is near."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ops.planning.schedule import Need, Room, Schedule, Task, schedule

SEED = 20250722


def chain(key: str, needs: Sequence[Need], pool: str = "a") -> list[Task]:
    tasks: list[Task] = []
    for number, need in enumerate(needs):
        before = (tasks[-1].name,) if tasks else ()
        tasks.append(Task(f"{number}@{key}", {pool: need}, before))
    return tasks


def cells(count: int, gpus: int) -> list[Task]:
    """Chains as a study's: a long training and two evaluations, of sizes that differ tenfold."""
    draw = random.Random(SEED)
    tasks = []
    for key in range(count):
        size = draw.choice([g for g in (1, 2, 4, 8) if g <= gpus])
        hours = draw.uniform(0.5, 5.0)
        needs = [Need(size, 1, hours), Need(1, 1, hours / 10), Need(1, 1, hours / 20)]
        tasks += chain(str(key), needs)
    return tasks


def check(found: Schedule, tasks: Sequence[Task], rooms: dict[str, Room]) -> None:
    """Hold a schedule against what it promises."""
    placed = {each.task.name: each for each in found.placed}
    assert len(placed) == len(found.placed) == len(tasks)
    for task in tasks:
        assert all(placed[before].end <= placed[task.name].start for before in task.after)
    for pool, room in rooms.items():
        there = [each for each in found.placed if each.pool == pool]
        changes = sorted(
            change
            for each in there
            for used in [each.need.gpus * each.need.nodes]
            for change in ((each.start, used), (each.end, -used))
        )
        used = 0
        for _, change in changes:
            used += change
            assert used <= room.nodes * room.gpus
    assert found.makespan == max((each.end for each in found.placed), default=0.0)
    assert found.makespan >= found.lower_bound - 1e-9


@pytest.mark.parametrize("nodes", [1, 4, 16, 64, 256])
@pytest.mark.parametrize("gpus", [4, 8])
def test_the_makespan_is_near_the_lower_bound(nodes: int, gpus: int) -> None:
    tasks, rooms = cells(3000, gpus), {"a": Room(nodes, gpus)}
    found = schedule(tasks, rooms)
    check(found, tasks, rooms)
    assert found.makespan <= 1.1 * found.lower_bound


needs = st.builds(Need, st.integers(0, 4), st.integers(1, 2), st.floats(0, 10))


@given(st.lists(st.lists(needs, min_size=1, max_size=3), max_size=12))
def test_any_chains_are_scheduled(chains: list[list[Need]]) -> None:
    tasks = [task for key, each in enumerate(chains) for task in chain(str(key), each)]
    rooms = {"a": Room(2, 4)}
    check(schedule(tasks, rooms), tasks, rooms)


def test_tasks_of_several_nodes_take_whole_rows_of_them() -> None:
    wide, small = Need(8, 2, 1.0), Need(1, 1, 5.0)
    tasks = [*chain("wide", [wide]), *chain("small", [small])]
    found = schedule(tasks, {"a": Room(2, 8)})
    (one, two) = sorted(found.placed, key=lambda each: each.start)
    assert one.task.name == "0@small" and two.start == one.end == 5.0


def test_the_longest_way_to_the_end_goes_first() -> None:
    tasks = [Task("short", {"a": Need(1, 1, 2.0)}), *chain("long", [Need(1, 1, 1.0)] * 3)]
    found = schedule(tasks, {"a": Room(1, 1)})
    assert found.placed[0].task.name == "0@long"
    assert all(one.end <= two.start for one, two in pairwise(found.placed))


def test_a_task_runs_where_it_is_fastest_if_there_is_room() -> None:
    both = {"slow": Need(1, 1, 3.0), "fast": Need(1, 1, 1.0)}
    tasks = [Task("one", both), Task("two", both)]
    rooms = {"slow": Room(1, 1), "fast": Room(1, 1, speed=3.0)}
    found = schedule(tasks, rooms)
    assert {each.task.name: each.pool for each in found.placed} == {"one": "fast", "two": "slow"}
    assert found.lower_bound == 1.5  # two tasks of three units on four
    check(found, tasks, rooms)


def test_nothing_takes_no_time() -> None:
    found = schedule([], {"a": Room(1, 1)})
    assert found.makespan == found.lower_bound == 0.0
