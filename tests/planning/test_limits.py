"""How long a cell's job may take: three times its estimate, and never less than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.ops.planning.cells import plan_cells
from pipeline.ops.planning.cluster import ASSUMED
from pipeline.ops.planning.limits import time_limit
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.plan import count_rows
from pipeline.train.schedule import Schedule
from pipeline.train.shapes import shape_of
from tests.conftest import PROJECT

KEY = "qwen25-7b-study-1-grpo"
VALIDATION = 400


def limited(minutes: float | None) -> Params:
    """The study grid with one cell, the dearest, and a limit."""
    study = find_study(PROJECT, "grid")
    cluster = study.train.cluster.model_copy(update={"time_limit_minutes": minutes})
    train = study.train.model_copy(update={"cluster": cluster})
    params = expand(study.model_copy(update={"train": train}))
    return params.model_copy(update={"cells": {KEY: params.cells[KEY]}})


def estimated(params: Params, root: Path) -> float:
    """The hours of its training by the plan."""
    (cell,) = plan_cells(params, ASSUMED, root)
    return cell.pools["a100"]["train"].hours


def allowed(params: Params) -> float:
    """The hours that its job may take."""
    cell = params.trained_cell(KEY)
    shape, recipe = shape_of(params.base[cell.model].model), cell.train
    placement = place(shape, recipe, cell.algorithm, recipe.cluster)
    schedule = Schedule.of(recipe, count_rows(params, cell))
    return time_limit(cell, shape, placement, schedule, VALIDATION) / 3600


def test_a_job_may_take_three_times_its_estimate(tmp_path: Path) -> None:
    params = limited(None)
    hours = estimated(params, tmp_path)
    assert hours > 48
    assert allowed(params) == pytest.approx(3 * hours, rel=1e-6)


def test_the_shortest_run_may_take_an_hour_to_start_and_to_store() -> None:
    params = limited(None)
    cell = params.trained_cell(KEY)
    short = cell.train.model_copy(update={"epochs": None, "steps": 1})
    cells = {KEY: cell.model_copy(update={"train": short})}
    assert allowed(params.model_copy(update={"cells": cells})) == 1


def test_a_limit_below_the_estimate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{KEY}: .*time_limit_minutes is 2880, .* take 35\d\d;"):
        estimated(limited(2880), tmp_path)
    enough = limited(4000)
    assert estimated(enough, tmp_path) > 48 and allowed(enough) == pytest.approx(4000 / 60)
