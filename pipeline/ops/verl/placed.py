"""Has verl train on the accelerators that its job has reserved.

verl 0.9.1 asks Ray for one placement group a node, one after the other, and looks beforehand
whether enough accelerators are free on all nodes together. Two jobs could so each hold what the
other needs. verl imports this module in each of its processes where ``VERL_USE_EXTERNAL_MODULES``
names it; there it is given the nodes of the one group that is reserved already.
"""

from __future__ import annotations

import os
from typing import Any

import ray
from ray._raylet import PlacementGroupID
from ray.util import placement_group_table
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from verl.single_controller.ray import base

from pipeline.ops.cluster.reserve import GROUP


class NodeShare(PlacementGroup):  # type: ignore[misc] # ray is not typed
    """What is reserved on one node, as verl knows it: a group with a bundle for each accelerator.

    Args:
        group: The reservation.
        bundle: Its bundle on that node.
    """

    def __init__(self, group: PlacementGroup, bundle: int) -> None:
        gpus = int(group.bundle_specs[bundle]["GPU"])
        super().__init__(group.id, [{"GPU": 1}] * gpus)
        self.group, self.bundle = group, bundle


def shares(identity: str) -> list[NodeShare]:
    """The shares of a reservation by the addresses of their nodes, as ranks are counted."""
    group = PlacementGroup(PlacementGroupID.from_hex(identity))
    addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
    nodes = placement_group_table(group)["bundles_to_node_id"]
    order = sorted(nodes, key=lambda bundle: addresses[nodes[bundle]])
    return [NodeShare(group, bundle) for bundle in order]


def _on(placement_group: NodeShare, placement_group_bundle_index: int) -> Any:
    """Where a rank runs: in its node's bundle, of which it takes one accelerator."""
    return PlacementGroupSchedulingStrategy(placement_group.group, placement_group.bundle)


def _reserved_groups(pool: Any, *_: object, **__: object) -> list[NodeShare]:
    """Give a pool of workers its nodes, in place of verl's own method."""
    if pool.pgs is None:
        pool.pgs = shares(os.environ[GROUP])
        pool.max_colocate_count = 1  # a rank takes all of its accelerator, and so has one alone
    found: list[NodeShare] = pool.pgs
    return found


def use_reservation() -> None:
    """Give verl's pools of workers, from now on, what ``TOMRL_PLACEMENT_GROUP`` names."""
    base.RayResourcePool.get_placement_groups = _reserved_groups
    base.ResourcePoolManager._check_resource_available = lambda manager: None
    base.sort_placement_group_by_node_ip = list
    base.PlacementGroupSchedulingStrategy = _on


if os.environ.get(GROUP):
    use_reservation()
