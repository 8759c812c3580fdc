"""What cells take of a named resource, and the limit on it that Prefect's server keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from prefect import get_client
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    GlobalConcurrencyLimitUpdate,
)
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL

from flows.commands import Commands
from flows.order import runs_on_cores
from pipeline.config.params import ApiCell, Params, TrainedCell
from pipeline.train.shapes import shape_of
from pipeline.train.verl.placement import place

CPU, GPU = "cpu", "gpu"
_SECONDS_BETWEEN_LOOKS = 5.0


def resource(params: Params) -> str:
    """Return the name of what cells take: ``cpu`` where all models are tiny and trained here."""
    return CPU if runs_on_cores(params) else GPU


def taken(params: Params, key: str) -> int:
    """Return how much of the resource a cell takes: accelerators on all nodes, or cores.

    A cell whose model is behind an address takes nothing: it waits for answers.
    """
    cell = params.cells[key]
    if isinstance(cell, ApiCell):
        return 0
    if resource(params) == CPU:
        return params.study.threads
    if not isinstance(cell, TrainedCell) or cell.train.backend == "local":
        return 1
    model = params.base[cell.model].model
    return place(shape_of(model), cell.train, cell.algorithm, cell.train.cluster, model.kind).ranks


def side_by_side(params: Params, slots: int) -> int:
    """Return how many cells fit into so much of the resource at once, at most.

    Those that take nothing of it run beside them.
    """
    takes = [taken(params, key) for key in params.cells]
    own = [each for each in takes if each]
    return takes.count(0) + (max(1, slots // min(own)) if own else 0)


def limit_of(name: str, sweep: str, slots: int) -> str:
    """Return the name of the limit that a sweep's cells are under, made where it is missing.

    On a server that others use it is the resource's own, whose size is theirs to set. Prefect's
    temporary servers keep theirs in one database; there each sweep has its own, free at its start.

    Args:
        name: The resource.
        sweep: The sweep.
        slots: Size of a limit that is made.
    """
    limit = name if PREFECT_API_URL.value() else f"{name}-{sweep}"
    with get_client(sync_client=True) as client:
        try:
            client.read_global_concurrency_limit_by_name(limit)
        except ObjectNotFound:
            client.create_global_concurrency_limit(
                GlobalConcurrencyLimitCreate(name=limit, limit=slots)
            )
        if limit != name:
            client.update_global_concurrency_limit(
                limit, GlobalConcurrencyLimitUpdate(limit=slots, active_slots=0)
            )
    return limit


@contextmanager
def held(limit: str, occupies: int, commands: Commands) -> Iterator[None]:
    """Hold so much of a limit while the block runs; wait for it, but not once commands are stopped.

    What a lost server cannot renew is given up after minutes, on its side alone: the block goes on.
    """
    with ExitStack() as stack:
        while occupies and not commands.stopped:
            slots = concurrency(
                limit,
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
