"""The plan's clock is the driver's: order, room on nodes, and what is paid for while cells run."""

from __future__ import annotations

import pytest

from pipeline.config.expand import expand
from pipeline.config.params import Params, TrainedCell
from pipeline.config.study_files import find_study
from pipeline.ops.planning.cells import CellPlan, PlannedCell, StagePlan
from pipeline.ops.planning.cluster import ASSUMED, ClusterFile, Pool
from pipeline.ops.planning.simulation import in_order, makespan
from pipeline.ops.planning.study import plan_study
from tests.conftest import PROJECT


def _cluster(nodes: int, gpus: int) -> ClusterFile:
    return ClusterFile(pools={"a": Pool(accelerator="h100", nodes=nodes, gpus=gpus, price=1.0)})


def _cell(key: str, *stages: tuple[int, float], of: str | None = None) -> PlannedCell:
    planned = {str(number): StagePlan(*stage, memory=0) for number, stage in enumerate(stages)}
    return PlannedCell(CellPlan(key, of, {"a": planned}, 0, 0, 0), "a")


@pytest.mark.parametrize(
    ("nodes", "cells", "hours"),
    [
        (1, [], 0.0),
        (1, [_cell("a", (4, 2.0)), _cell("b", (4, 1.0))], 3.0),
        (2, [_cell("a", (4, 2.0)), _cell("b", (4, 1.0))], 2.0),
        # Two and two are free on two nodes: what takes four of one waits.
        (2, [_cell("a", (2, 2.0)), _cell("b", (4, 5.0)), _cell("c", (4, 1.0))], 5.0),
        (2, [_cell("a", (3, 1.0)), _cell("b", (3, 1.0)), _cell("c", (2, 1.0))], 2.0),
        # The fullest node that has room is taken, so that a whole one is left.
        (2, [_cell("a", (2, 1.0)), _cell("b", (2, 1.0)), _cell("c", (4, 1.0))], 1.0),
        # What takes two nodes takes both of them whole.
        (2, [_cell("a", (8, 1.0)), _cell("b", (1, 1.0))], 2.0),
        # A cell goes on with its evaluation while others train.
        (1, [_cell("a", (4, 1.0), (1, 3.0)), _cell("b", (2, 1.0)), _cell("c", (1, 1.0))], 4.0),
        # Training from another cell's weights begins when these are trained, not evaluated.
        (1, [_cell("a", (2, 1.0), (2, 9.0)), _cell("b", (2, 1.0), of="a")], 10.0),
        (1, [_cell("a", (2, 1.0)), _cell("b", (2, 2.0), of="a")], 3.0),
    ],
)
def test_cells_run_side_by_side_where_there_is_room(
    nodes: int, cells: list[PlannedCell], hours: float
) -> None:
    assert makespan(cells, _cluster(nodes, 4)) == pytest.approx(hours)


@pytest.mark.parametrize("study", ["tom-rl", "rlvr", "grid"])
def test_what_is_paid_for_is_used(study: str) -> None:
    plan = plan_study(_params(study), ASSUMED, PROJECT)
    assert plan.in_use >= 0.85
    assert plan.gpu_hours <= plan.scheduled * 4
    assert plan.longest <= plan.scheduled + 1e-9
    assert plan.cost <= plan.cost_held


def test_the_largest_models_are_started_first() -> None:
    params = _params("tom-rl")
    ordered = in_order(params, params.cells)
    trained = [key for key in ordered if isinstance(params.cells[key], TrainedCell)]
    assert [key.rsplit("-hi", 1)[0] for key in trained] == [
        *("qwen25-7b", "qwen25-7b-1m", "qwen25-3b", "qwen25-15b", "qwen25-05b")
    ]


def _params(study: str) -> Params:
    return expand(find_study(PROJECT, study))
