"""Asks a cluster for nodes that it starts on demand, and waits for them.

``python -m pipeline.ops.cluster.demand NODES GPUS MINUTES`` runs on the cluster as a job of its
own, before the one that takes the nodes: Ray removes the uploaded folder of a job with the first
process of it that leaves the cluster. What it waits for is a placement group: the one kind of
demand that an autoscaler sees and that is gone with the process, whatever becomes of that.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping

from pipeline.base.errors import UserError
from pipeline.formats.plural import counted
from pipeline.ops.cluster.job import USER_ERROR_LINE, USER_ERROR_STATUS

VARIABLE = "TOMRL_NODE_MINUTES"
"""In the environment of whoever submits: how long a job waits for nodes that are started for it."""
_SAY_SECONDS = 30.0


def minutes_of(environment: Mapping[str, str]) -> float:
    """How long to wait for nodes; 0 where a cluster is not said to start any.

    Raises:
        UserError: If it is no such number.
    """
    text = environment.get(VARIABLE) or "0"
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 <= minutes < math.inf:
        raise UserError(
            f"{VARIABLE}={text!r} is not a time; allowed: a number of minutes, such as 15, which a "
            "job waits for nodes that the cluster's autoscaler starts, or 0 for a cluster without"
        )
    return minutes


def command(python: str, nodes: int, gpus: int, minutes: float) -> tuple[str, ...]:
    """The command that waits for ``nodes`` nodes with ``gpus`` accelerators each."""
    return (python, "-m", "pipeline.ops.cluster.demand", str(nodes), str(gpus), f"{minutes:g}")


def wait(nodes: int, gpus: int, seconds: float) -> bool:
    """Wait until so many nodes have so many free accelerators each; return whether they came."""
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group

    ray.init(address="auto", log_to_driver=False)
    spread = "STRICT_SPREAD" if nodes > 1 else "PACK"
    wanted = placement_group([{"GPU": gpus}] * nodes, strategy=spread)
    end, there = time.monotonic() + seconds, False
    while not there and (left := end - time.monotonic()) > 0:
        print(
            f"cluster: waiting for {counted(nodes, 'node')} with {counted(gpus, 'GPU')} each, for "
            f"another {left:.0f} s at most",
            flush=True,
        )
        there = wanted.wait(timeout_seconds=math.ceil(min(left, _SAY_SECONDS)))  # whole ones
    remove_placement_group(wanted)
    ray.shutdown()
    return there


def main() -> None:
    """Wait, or say why the nodes are not there."""
    nodes, gpus, minutes = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    if not wait(nodes, gpus, 60 * minutes):
        print(
            f"{USER_ERROR_LINE}{counted(nodes, 'node')} with {counted(gpus, 'GPU')} each did not "
            f"come within {minutes:g} minutes ({VARIABLE}); look at what the cluster's autoscaler "
            "says (`ray status` on its head), at its quotas and at the number of nodes that "
            "it may start",
            flush=True,
        )
        sys.exit(USER_ERROR_STATUS)


if __name__ == "__main__":
    main()
