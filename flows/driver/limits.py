"""What cells take of a named resource, and the limit on it that Prefect's server keeps."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    GlobalConcurrencyLimitUpdate,
)
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL

from flows.driver.commands import Commands
from flows.driver.graph import runs_on_cores
from pipeline.base.errors import UserError
from pipeline.config.params import ApiCell, Params, TrainedCell
from pipeline.ops.cluster.job import node_minutes
from pipeline.ops.verl.placement import place
from pipeline.train.shapes import shape_of

CPU, GPU = "cpu", "gpu"
_SECONDS_BETWEEN_LOOKS = 5.0


def resource(params: Params) -> str:
    """The name of what cells take: ``cpu`` where all models are tiny and trained here."""
    return CPU if runs_on_cores(params) else GPU


def taken(params: Params, key: str) -> int:
    """How much of the resource a cell takes: accelerators on all nodes, or cores."""
    nodes, each = _place(params, key)
    return nodes * each


def _place(params: Params, key: str) -> tuple[int, int]:
    """On how many nodes a cell takes how much of the resource.

    A cell whose model is behind an address takes nothing: it waits for answers.
    """
    cell = params.cells[key]
    if isinstance(cell, ApiCell):
        return 1, 0
    if resource(params) == CPU:
        return 1, params.study.threads
    if not isinstance(cell, TrainedCell) or cell.train.backend == "local":
        return 1, 1
    model = params.base[cell.model].model
    placement = place(shape_of(model), cell.train, cell.algorithm, cell.train.cluster)
    return placement.nodes, placement.gpus


def side_by_side(params: Params, nodes: Sequence[int]) -> int:
    """How many cells can be placed at once, at most; one if none can.

    Args:
        params: The study.
        nodes: How much of the resource each node has. The smallest cells are placed first, each on
            the nodes that it fills best.
    """
    free, placed = list(nodes), 0
    for count, each in sorted((_place(params, key) for key in params.cells), key=math.prod):
        order = sorted(range(len(free)), key=free.__getitem__)
        fitting = [node for node in order if free[node] >= each][:count]
        if not each or len(fitting) == count:
            placed += 1
            for node in fitting:
                free[node] -= each
    return max(1, placed)


def accelerators() -> list[int]:
    """How many accelerators each node has: the cluster's of ``RAY_ADDRESS``, else this machine.

    Raises:
        UserError: If the cluster refuses.
        TransientError: If it does not answer.
    """
    from pipeline.ops.cluster.client import configured_address, connect
    from pipeline.ops.cluster.gpus import visible

    address = configured_address(os.environ)
    return connect(address).node_accelerators() if address else [len(visible(os.environ))]


def most_taken(params: Params) -> int:
    """How much of the resource the cell takes that takes most."""
    return max((taken(params, key) for key in params.cells), default=0)


@dataclass(frozen=True)
class Limit:
    """What says how much of a resource may be taken at a time.

    Attributes:
        name: What Prefect's server knows it by.
        size: How much may be taken; who needs more takes all of it, and runs alone. With 0 nobody
            waits here: Ray, or a lease of this machine, gives cells what they take.
        together: How many cells run side by side.
    """

    name: str
    size: int
    together: int = 1


def limit_of(params: Params, name: str, slots: int | None, jobs: int | None = None) -> Limit:
    """The limit on what the cells of a run may take.

    That of cores, or one that somebody asks for, is made or found on Prefect's server: a temporary
    server knows one run, a server that stays has one limit for all.

    Args:
        params: The study.
        name: The run.
        slots: How much its cells may take at a time; all there is if None.
        jobs: How many cells may run at a time, if that is said.

    Raises:
        UserError: If the limit that runs share is too small, or the cluster refuses.
        TransientError: If the cluster does not answer.
    """
    kind = resource(params)
    if kind == GPU and slots is None:
        if node_minutes(os.environ):  # nodes are started for cells that wait
            return Limit(kind, 0, len(params.cells))
        if any(nodes := accelerators()):
            return Limit(kind, 0, side_by_side(params, nodes))
    cores = max(len(os.sched_getaffinity(0)), params.study.threads)
    size = slots or (1 if kind == GPU else jobs * params.study.threads if jobs else cores)
    together = side_by_side(params, [size])
    if not PREFECT_API_URL.value():  # all temporary servers keep their limits in one database
        return found_limit(Limit(f"{kind}-{name}", size, together), set_to=size)
    needed = max(slots or 0, most_taken(params))
    limit = found_limit(Limit(kind, max(size, needed), together))
    if limit.size < needed:
        raise UserError(
            f"the limit {kind} of Prefect's server has {limit.size} slots, and this run needs "
            f"{needed} (--concurrency, or what its largest cell takes): lower --concurrency, or, "
            f"if there are as many, run: prefect gcl update {kind} --limit {needed}"
        )
    return limit


def found_limit(wanted: Limit, set_to: int | None = None) -> Limit:
    """A limit as it is on the server, made where it is missing.

    Args:
        wanted: The limit if it is missing.
        set_to: The size that it gets in any case, with nothing of it taken.
    """
    with get_client(sync_client=True) as client:
        try:
            found = client.read_global_concurrency_limit_by_name(wanted.name).limit
        except ObjectNotFound:
            found = wanted.size
            client.create_global_concurrency_limit(
                GlobalConcurrencyLimitCreate(name=wanted.name, limit=found)
            )
        if set_to:
            free = GlobalConcurrencyLimitUpdate(limit=set_to, active_slots=0)
            client.update_global_concurrency_limit(wanted.name, free)
    return replace(wanted, size=set_to or int(found))


@contextmanager
def held(limit: Limit, needs: int, commands: Commands) -> Iterator[None]:
    """Hold what is needed of a limit while the block runs; wait for it until commands are stopped.

    What a lost server cannot renew is given up after minutes, on its side alone: the block goes on.
    """
    occupies = min(needs, limit.size)
    with ExitStack() as stack:
        while occupies and not commands.stopped:
            slots = concurrency(
                limit.name,
                occupies,
                timeout_seconds=_SECONDS_BETWEEN_LOOKS,
                strict=True,
                raise_on_lease_renewal_failure=False,
            )
            try:
                stack.enter_context(slots)
                break
            except TimeoutError:
                continue
        yield
