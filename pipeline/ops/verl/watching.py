"""Watches the memory of a job's nodes while verl trains: measured after each step, and a job that
has grown too far saves, ends, and is begun again.

verl calls nothing back between two steps. So two of its trainer's own calls are wrapped: the one at
the end of a step, after which its figures are logged, and the one before the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ray
from ray.util import placement_group_table
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pipeline.ops.verl.collect import TIMING_PREFIX
from pipeline.ops.verl.host_memory import HostMemory, Watch, host_memory, message


class HostMemoryFull(RuntimeError):
    """Ends a job that has grown; what it has learned is saved."""


class Gauges:
    """Measures the memory of nodes: here, and on each of the others by an actor there."""

    def __init__(self, nodes: Iterable[str]) -> None:
        here = ray.get_runtime_context().get_node_id()
        actor = ray.remote(num_cpus=0)(_Gauge)
        self._others = [
            actor.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
            ).remote()
            for node in sorted(set(nodes) - {here})
        ]

    def fullest(self) -> HostMemory:
        """Return the memory of the fullest node."""
        others: list[HostMemory] = ray.get([each.read.remote() for each in self._others])
        return max((host_memory(), *others), key=lambda each: each.share)


class _Gauge:
    def read(self) -> HostMemory:
        """Return the memory of the actor's node."""
        return host_memory()


class StepWatch:
    """What a trainer's loop asks after each step, and before the next.

    Args:
        limit: Share of a node's memory.
        gauges: Measure it.
    """

    def __init__(self, limit: float, gauges: Gauges) -> None:
        self._limit, self._gauges = limit, gauges
        self._watch: Watch | None = None
        self._ends: str | None = None

    def after(self, step: int) -> tuple[dict[str, float], bool]:
        """Return the figures of a step, and whether it must be saved because it is the last."""
        found = self._gauges.fullest()
        self._watch = self._watch or Watch(self._limit, found)
        is_over = self._watch.is_over(found)
        if is_over:
            self._ends = message(found, self._limit, step)
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
    """Return the nodes that verl's pools of workers are on."""
    groups = [group for pool in pools for group in pool.pgs or ()]
    return {
        node
        for group in groups
        for node in placement_group_table(group)["bundles_to_node_id"].values()
    }
