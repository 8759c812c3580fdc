"""How long a cell's job may take: what its study says, else three times the plan, or an hour."""

from __future__ import annotations

from pipeline.config.params import TrainedCell
from pipeline.ops.planning.cluster import TERAFLOPS
from pipeline.ops.planning.hours import SHARE, hours, train_operations
from pipeline.ops.verl.placement import Placement
from pipeline.train.schedule import Schedule
from pipeline.train.shape import Shape

TIMES = 3
"""How often the plan's estimate fits into the limit, where a study sets none."""

LEAST = 3600.0
"""Seconds of the shortest limit: attempts start, save and store, which the plan does not count."""


def time_limit(
    cell: TrainedCell,
    shape: Shape,
    placement: Placement,
    schedule: Schedule,
    validation: int,
) -> float:
    """The seconds that a cell's attempts may take together.

    Args:
        cell: The cell.
        shape: Of its model.
        placement: Where it trains.
        schedule: Its steps.
        validation: Questions of a validation.
    """
    if cell.train.cluster.time_limit_minutes is not None:
        return 60 * cell.train.cluster.time_limit_minutes
    operations = train_operations(shape, cell.train, cell.algorithm, schedule, validation)
    speed = SHARE * 1e12 * TERAFLOPS[placement.accelerator]
    return max(LEAST, TIMES * 3600 * hours(operations, placement.ranks, speed))
