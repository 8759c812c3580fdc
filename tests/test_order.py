"""Which stages a run starts: what changed, and all that this can reach, by DVC's own graph."""

from __future__ import annotations

import shutil
from pathlib import Path

import networkx  # type: ignore[import-untyped]
import pytest
from dvc.repo import Repo

from flows.driver.graph import Graph
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import use_study
from tests.conftest import TINY


@pytest.mark.parametrize("study", ["mini", "prompt-or-training-mini", "chain"])
def test_what_a_stage_reaches_is_started_with_it(checkout: Path, study: str) -> None:
    """The second study has cells that ask the model of others, the third some that start there."""
    shutil.copy(TINY / "studies" / "chain.yaml", checkout / "studies" / "chain.yaml")
    params, graph = read_params(use_study(checkout, study)), Graph.of(checkout)
    with Repo(str(checkout)) as repo:
        stages = networkx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
    models, cells = graph.of_models(params), list(params.cells)
    by_cell = {stage: key for key in cells for stage in graph.of_cell(key)}
    kinds = {*graph.shared, *graph.models, *graph.cell, *graph.last}
    assert kinds == {stage.partition("@")[0] for stage in stages}
    for stage in stages:
        reached, kind = networkx.ancestors(stages, stage), stage.partition("@")[0]
        if kind in graph.shared:  # which are made in this order
            needed = {each.partition("@")[0] for each in networkx.descendants(stages, stage)}
            assert needed <= {*graph.shared[: graph.shared.index(kind)]}
        elif stage in models:
            assert not {each.partition("@")[0] for each in reached} & {*graph.shared}
        elif stage in by_cell:
            left = graph.cells_left(params, {stage})
            assert {by_cell.get(each) for each in reached - {*graph.last}} <= {*left}
            assert by_cell[stage] == left[0]
        else:
            assert stage in graph.last and not reached
