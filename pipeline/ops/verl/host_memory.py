"""The memory of a job's nodes, after each step; a job that has grown too far saves and ends.

verl's processes grow over hours and days (verl#630, #4995), and another attempt begins without what
they leaked. The kernel and Ray (from 95 %) end single processes without a checkpoint.

verl calls nothing back between two steps. So two of its trainer's own calls are wrapped: the one at
the end of a step, after which its figures are logged, and the one before the next.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import ray
from ray.util import placement_group_table
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pipeline.ops.verl.collect import TIMING_PREFIX

CGROUP_VARIABLE = "TOMRL_CGROUP"
"""Folder of the control group whose limit holds; else that of the process."""

_MOUNT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


class HostMemoryFull(RuntimeError):
    """Ends a job that has grown; what it has learned is saved."""


class HostMemory(NamedTuple):
    """The memory of a machine, or of the container that is nearer to its limit.

    Attributes:
        node: Name of the machine.
        used: Bytes that are held and cannot be had by dropping caches.
        total: Bytes that there are, or that may be held.
    """

    node: str
    used: int
    total: int

    @property
    def share(self) -> float:
        """The share that is held."""
        return self.used / self.total


def host_memory() -> HostMemory:
    """The memory of this machine, or of the tightest control group around the process."""
    machine, name = psutil.virtual_memory(), platform.node()
    groups = filter(None, map(group_memory, _groups()))
    found = [HostMemory(name, *group) for group in groups if group[1] < machine.total]
    found.append(HostMemory(name, machine.total - machine.available, machine.total))
    return max(found, key=lambda each: each.share)


def group_memory(folder: Path) -> tuple[int, int] | None:
    """Bytes held and allowed in a control group, of version 2 or 1; None without a limit."""
    for limit, held, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            allowed, used, stat = (
                (folder / name).read_text().split() for name in (limit, held, "memory.stat")
            )
        except OSError:
            continue
        if allowed[0].isdigit():
            cached = int(stat[stat.index(cache) + 1]) if cache in stat else 0
            return max(0, int(used[0]) - cached), int(allowed[0])
    return None


def _groups() -> list[Path]:
    """The process's control group and all around it: any of them may set a limit."""
    if named := os.environ.get(CGROUP_VARIABLE):
        return [Path(named)]
    groups = []
    for line in _OWN.read_text().splitlines() if _OWN.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            mount = _MOUNT / "memory" if controllers else _MOUNT
            own = mount / path.lstrip("/")
            groups += [own, *(each for each in own.parents if each.is_relative_to(mount))]
    return groups


class Gauges:
    """Measures the memory of nodes: here, and on each of the others by an actor there."""

    def __init__(self, nodes: Iterable[str]) -> None:
        others = sorted({*nodes} - {ray.get_runtime_context().get_node_id()})
        on = [NodeAffinitySchedulingStrategy(node, soft=False) for node in others]
        gauge = ray.remote(num_cpus=0)(_Gauge)
        self._others = [gauge.options(scheduling_strategy=each).remote() for each in on]

    def fullest(self) -> HostMemory:
        """The memory of the fullest node."""
        others: list[HostMemory] = ray.get([each.read.remote() for each in self._others])
        return max((host_memory(), *others), key=lambda each: each.share)


class _Gauge:
    def read(self) -> HostMemory:
        return host_memory()


class StepWatch:
    """What a trainer's loop asks after each step, and before the next.

    Args:
        limit: Share of a node's memory above which the job ends. One that is above it after the
            attempt's first step is let alone: another attempt would begin there too.
        gauges: Measure it.
    """

    def __init__(self, limit: float, gauges: Gauges) -> None:
        self._limit, self._gauges = limit, gauges
        self._first: float | None = None
        self._ends: str | None = None

    def after(self, step: int) -> tuple[dict[str, float], bool]:
        """The figures of a step, and whether it must be saved because it is the last."""
        found, limit = self._gauges.fullest(), self._limit
        self._first = found.share if self._first is None else self._first
        if is_over := found.share > limit >= self._first:
            self._ends = (  # in words that failures.py knows
                f"host memory of {found.node} has grown to {found.share:.0%} of "
                f"{found.total / 2**30:.1f} GiB, above {limit:.0%}: step {step} is saved"
            )
        figures = {"host_memory_share": found.share, "host_memory_bytes": float(found.used)}
        return {f"{TIMING_PREFIX}{name}": value for name, value in figures.items()}, is_over

    def before_next(self) -> None:
        """End the job if its memory has grown too far.

        Raises:
            HostMemoryFull: If it has.
        """
        if self._ends:
            raise HostMemoryFull(self._ends)


def watch(trainer: Any, limit: float) -> None:
    """Have verl's trainer of RL watched.

    Args:
        trainer: A ``PPOTrainer`` of verl 0.9.1.
        limit: Share of a node's memory above which it ends, if it began below.
    """
    begin, end = trainer.on_step_begin, trainer.on_step_end
    watches: list[StepWatch] = []

    def on_step_begin() -> None:
        for each in watches:
            each.before_next()
        begin()

    def on_step_end() -> None:
        end()
        if not watches:  # only now all workers have their places
            pools = trainer.resource_pool_manager.resource_pool_dict.values()
            watches.append(StepWatch(limit, Gauges(nodes_of(*pools))))
        step = trainer.global_steps
        figures, must_save = watches[0].after(step)
        if must_save and step % trainer.config.trainer.save_freq:
            trainer._save_checkpoint()
        pending = getattr(trainer, "_pending_sync_metrics", None) or {}
        trainer._pending_sync_metrics = {**pending, **figures}

    trainer.on_step_begin, trainer.on_step_end = on_step_begin, on_step_end


def nodes_of(*pools: Any) -> set[str]:
    """The nodes that verl's pools of workers are on."""
    groups = [group for pool in pools for group in pool.pgs or ()]
    return {
        node
        for group in groups
        for node in placement_group_table(group)["bundles_to_node_id"].values()
    }
