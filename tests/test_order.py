"""Which stages of a study a flow starts: those that changed, and all that these can reach."""

from __future__ import annotations

from pathlib import Path

import networkx  # type: ignore[import-untyped]
import pytest
from dvc.repo import Repo

from flows.order import stage_names, stages_left
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import use_study


@pytest.mark.parametrize("study", ["mini", "prompt-or-training-mini"])
def test_what_a_stage_reaches_is_started_with_it(checkout: Path, study: str) -> None:
    """By DVC's own graph; the second study has cells that ask the model of others."""
    params = read_params(use_study(checkout, study))
    order = stage_names(params)
    with Repo(str(checkout)) as repo:
        graph = networkx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
    assert set(graph) == set(order)
    for stage in order:
        left = stages_left(params, {stage})
        assert left == sorted(left, key=order.index)
        assert {stage, *networkx.ancestors(graph, stage)} <= set(left), stage


def test_what_cannot_have_changed_is_not_started(checkout: Path) -> None:
    params = read_params(use_study(checkout, "mini"))
    assert stages_left(params, set()) == []
    assert stages_left(params, {"report"}) == ["report"]
    assert stages_left(params, {"judge@nano-cued"}) == [
        "judge@nano-cued",
        "report",
    ]
    order = stage_names(params)
    assert stages_left(params, {"suite"}) == order[order.index("suite") :]
