"""Accelerators for a job, reserved with Ray all at once before anything takes one of them.

A reservation is one placement group: one bundle for each node that the job takes. Ray places all
of its bundles or none. What fits on no node waits and holds nothing, however many accelerators are
free on all nodes together. A group that waits is also what Ray's autoscaler starts nodes for. It is
gone with the process that asked for it, whatever becomes of that.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from pipeline.base.errors import UserError
from pipeline.formats.plural import counted
from pipeline.ops.cluster.job import HOLDS, NODE_DISK, NODE_MINUTES, WAITS, node_minutes
from pipeline.ops.cluster.job_lines import unseen

GROUP = "TOMRL_PLACEMENT_GROUP"
"""Names the reservation, in hexadecimal digits, in the environment of what runs on it."""
_SAY_SECONDS = 30


@contextmanager
def reserved(
    nodes: int, gpus: int, cpus: int, shared: Sequence[str] = (), disk: str | None = None
) -> Iterator[Mapping[str, str]]:
    """Reserve accelerators, wait for them, and yield the variables that name them.

    The process must be on a node of the cluster.

    Args:
        nodes: Nodes that are taken.
        gpus: Accelerators of each.
        cpus: Processor cores, as Ray counts them, of each.
        shared: Paths that each of these nodes must see.
        disk: A folder that each must have on its own disk, if any.

    Raises:
        UserError: If nodes that the cluster starts on demand do not come in time, or one does not
            see a path, or has no such folder that can be written to.
    """
    ray.init(address="auto", log_to_driver=False)
    group = placement_group(
        [{"GPU": gpus, "CPU": cpus}] * nodes,
        strategy="STRICT_SPREAD" if nodes > 1 else "STRICT_PACK",
    )
    try:
        wanted = f"{counted(nodes, 'node')} with {counted(gpus, 'GPU')} each"
        _wait(group, wanted, (nodes, gpus), 60 * node_minutes(os.environ))
        print(f"{HOLDS}{wanted}", flush=True)
        if shared or disk:
            _check_seen(group, nodes, shared, disk)
        yield {GROUP: group.id.hex()}
    finally:
        remove_placement_group(group)
        ray.shutdown()


def _wait(group: PlacementGroup, wanted: str, size: tuple[int, int], seconds: float) -> None:
    """Wait until a group is placed; for its nodes to come no longer than some seconds, if any."""
    asked, patience = time.monotonic(), 1
    while not group.wait(timeout_seconds=patience):
        patience = _SAY_SECONDS
        print(f"{WAITS}{wanted}, free on as many at once", flush=True)
        if seconds and time.monotonic() - asked > seconds and not _present(*size):
            raise UserError(
                f"{wanted} did not come within {seconds / 60:g} minutes ({NODE_MINUTES}); look at "
                "what the cluster's autoscaler says (`ray status` on its head), at its quotas and "
                "at the number of nodes that it may start"
            )


def _check_seen(group: PlacementGroup, nodes: int, shared: Sequence[str], disk: str | None) -> None:
    """Check that each node of a reservation sees the paths, and has the folder.

    Raises:
        UserError: If one does not.
    """

    def seen() -> tuple[str, list[str], bool]:
        missing = [path for path in shared if not os.path.exists(path)]  # noqa: PTH110
        return platform.node(), missing, disk is None or os.access(disk, os.W_OK | os.X_OK)

    look = ray.remote(num_cpus=0)(seen)
    places = [PlacementGroupSchedulingStrategy(group, bundle) for bundle in range(nodes)]
    found = ray.get([look.options(scheduling_strategy=on).remote() for on in places])
    for node, missing, has_disk in found:
        if missing:
            raise unseen(missing[0], node)
        if not has_disk:
            raise UserError(
                f"{NODE_DISK}: found {disk}, which is no folder that can be written to on the node "
                f"{node}; name one that each node has on its own disk, or unset it"
            )


def _present(nodes: int, gpus: int) -> bool:
    """Whether so many nodes have so many accelerators each, free or not."""
    counts = [node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]]
    return bool(sum(count >= gpus for count in counts) >= nodes)
