"""Resources of cells, and the limit on them that Prefect's server keeps."""

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
from pipeline.ops.planning.simulation import best_fit
from pipeline.ops.verl.placement import place
from pipeline.train.shapes import shape_of

CPU, GPU = "cpu", "gpu"
_SECONDS_BETWEEN_LOOKS = 5.0


def resource(params: Params) -> str:
    """The cells' resource: ``cpu`` where all models are tiny and trained here."""
    return CPU if runs_on_cores(params) else GPU


def taken(params: Params, key: str) -> int:
    """Accelerators on all nodes, or cores, that a cell takes."""
    nodes, each = _place(params, key)
    return nodes * each


def _place(params: Params, key: str) -> tuple[int, int]:
    """(nodes, resource per node) of a cell.

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
    """Maximum number of cells that fit at once; one if none does.

    The smallest cells are placed first, each on its best-fitting ``nodes``, given by their
    resource.
    """
    free, placed = list(nodes), 0
    for count, each in sorted((_place(params, key) for key in params.cells), key=math.prod):
        fitting = best_fit(free, count, each)
        if not each or fitting:
            placed += 1
            for node in fitting:
                free[node] -= each
    return max(1, placed)


def accelerators() -> list[int]:
    """Accelerators per node: the cluster's of ``RAY_ADDRESS``, else this machine's."""
    from pipeline.ops.cluster.client import configured_address, connect
    from pipeline.ops.cluster.gpus import visible

    address = configured_address(os.environ)
    return connect(address).node_accelerators() if address else [len(visible(os.environ))]


def most_taken(params: Params) -> int:
    return max((taken(params, key) for key in params.cells), default=0)


@dataclass(frozen=True)
class Limit:
    """A limit on the use of a resource.

    Attributes:
        name: On Prefect's server.
        size: Maximum use; a larger cell takes all of it, and runs alone. With 0 nobody waits here:
            Ray, or a lease of this machine, gives cells their share.
        together: Number of concurrent cells.
    """

    name: str
    size: int
    together: int = 1


def limit_of(params: Params, name: str, slots: int | None, jobs: int | None = None) -> Limit:
    """The limit for the cells of a run.

    Limits on cores, and requested ones, are kept on Prefect's server: a temporary server knows one
    run, a permanent one shares the limit between runs.

    Args:
        slots: Maximum use of the resource; all there is if None.
        jobs: Maximum number of concurrent cells, if given.

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
    """The server's limit, made if missing; ``set_to`` resets size and use."""
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
    """Hold a share of a limit while the block runs; wait for it until commands are stopped.

    If the server is lost, it releases the share after minutes; the block goes on.
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
