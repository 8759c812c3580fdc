"""``tomrl plan``: hours, dollars, disk and bad cluster files, through the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import TrainedCell
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from pipeline.config.training import Lora
from pipeline.ops.planning.cluster import ASSUMED, ClusterFile, Pool
from pipeline.ops.planning.disk import while_training
from pipeline.ops.planning.hours import PUBLISHED_HOURS, SHARE
from pipeline.ops.planning.study import StudyPlan, plan_study
from pipeline.ops.vllm.replica import replica_gpus
from pipeline.train.shapes import PUBLISHED, QWEN25
from tests.conftest import PROJECT
from tests.said import told, tomrl

KEYS = {"cells", "gpu_hours", "makespan_hours", "cost", "disk_gb"}


def run(*words: object) -> str:
    return tomrl("plan", *words, columns=100)


def planned(study: str, cluster: ClusterFile, root: Path, seeds: Sequence[int] = ()) -> StudyPlan:
    """Plan a study in a folder where nothing was made or measured."""
    found = find_study(PROJECT, study)
    if seeds:
        grid = found.grid.model_copy(update={"seeds": tuple(seeds)})
        found = found.model_copy(update={"grid": grid})
    return plan_study(expand(found), cluster, root)


def test_the_published_run_takes_its_published_hours(tmp_path: Path) -> None:
    study = planned("tom-rl", ASSUMED, tmp_path)
    found = {cell.key: cell for cell in study.cells}
    cell = found["qwen25-7b-1m-hi-exp"]
    assert cell.main.gpus == 4 and cell.pool == "a100"
    assert cell.hours["train"] == pytest.approx(PUBLISHED_HOURS, rel=0.01)
    assert 0.111 < SHARE < 0.268  # what prime-rl reports, from 16K to 64K tokens
    small = found["qwen25-05b-hi-exp"]
    assert small.hours["train"] < cell.hours["train"] / 10
    assert study.cost_of(cell) == pytest.approx(2.0 * cell.gpu_hours)


def test_the_keys_that_scripts_read() -> None:
    found = told("plan", "--study", "grid")
    assert found.keys() >= KEYS
    assert len(found["cells"]) == 85
    assert found["gpu_hours"] == pytest.approx(sum(c["gpu_hours"] for c in found["cells"]), 1e-3)
    assert found["makespan_hours"] >= found["longest_cell_hours"] > 0
    assert found["cost"] <= found["cost_of_cluster"]
    assert found["disk_gb"] > sum(cell["disk_gb"] for cell in found["cells"])
    assert all(
        sum(cell["hours"].values()) <= found["longest_cell_hours"] + 0.001
        for cell in found["cells"]
    )


def on_nodes(count: int) -> ClusterFile:
    pool = Pool(accelerator="a100-80", nodes=count, gpus=4, price=1.0)
    return ClusterFile(pools={"all": pool})


def test_when_all_is_done_is_bound_by_accelerators_or_by_the_longest_cell(tmp_path: Path) -> None:
    few, many = (planned("tom-rl", on_nodes(count), tmp_path) for count in (1, 64))
    assert few.gpu_hours / 4 <= few.scheduled < 1.05 * few.gpu_hours / 4
    assert few.scheduled > few.longest == many.longest
    assert many.makespan == pytest.approx(many.longest + many.around)
    assert many.cost == pytest.approx(few.cost) and many.cost_held > few.cost_held


def test_cells_are_spread_over_pools(tmp_path: Path) -> None:
    pool = Pool(accelerator="a100-80", nodes=1, gpus=4, price=1.0)
    both = planned("grid", ClusterFile(pools={"first": pool, "second": pool}), tmp_path)
    alone = planned("grid", ClusterFile(pools={"first": pool}), tmp_path)
    work = {name: 0.0 for name in both.cluster.pools}
    for cell in both.cells:
        work[cell.pool] += cell.gpu_hours
    assert work["first"] == pytest.approx(work["second"], rel=0.05)
    assert both.scheduled == pytest.approx(alone.scheduled / 2, rel=0.05)


def test_a_cell_that_asks_waits_for_the_training_that_it_asks(tmp_path: Path) -> None:
    found = planned("prompt-or-training", on_nodes(64), tmp_path)
    cells = {cell.key: cell for cell in found.cells}
    (asking, *_) = (cell for cell in found.cells if cell.plan.of)
    trained = cells[asking.plan.of]
    assert found.longest >= trained.hours["train"] + sum(asking.hours.values())


def test_ten_thousand_cells_are_planned(tmp_path: Path) -> None:
    found = planned("grid", on_nodes(64), tmp_path, seeds=range(125))
    one = planned("grid", on_nodes(64), tmp_path, seeds=(0,))
    trained = sum(cell.gpu_hours for cell in one.cells if "train" in cell.stages)
    assert len(found.cells) == 10_005
    assert found.gpu_hours == pytest.approx(one.gpu_hours + 124 * trained)


def test_what_is_said_at_the_end() -> None:
    shown = run("--study", "tom-rl")
    assert "qwen25-7b-1m-hi-exp" in shown and "…" not in shown
    last = shown.strip().splitlines()[-1]
    assert (
        last.startswith("`tomrl run` would be done with 10 cells after") and "(estimate; " in last
    )
    assert "97 % of what is paid for" in last and "checkpoints write 3,908 GB." in last
    assert "not planned, behind an address: gpt-4o-base" in shown
    many = PROJECT / "docs" / "clusters" / "four-nodes.yaml"
    wide = run("--study", "rlvr", "--cluster", many)
    assert "4 x 4 a100-80, 1 x 8 h200" in wide


def test_measured_hours_win_and_correct_the_others(tmp_path: Path) -> None:
    before = {cell.key: cell for cell in planned("tom-rl", ASSUMED, tmp_path).cells}
    key = "qwen25-05b-hi-exp"
    logs = tmp_path / "logs" / "tom-rl" / key / "train"
    logs.mkdir(parents=True)
    hours = 3 * before[key].hours["train"]
    rows = [{"step": 0, "at": 0.0, "validation_seconds": 600.0}]
    rows.append({"step": 1, "at": 0.0, "seconds": 3600 * hours - 600})
    (logs / "timing.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    after = {cell.key: cell for cell in planned("tom-rl", ASSUMED, tmp_path).cells}
    assert after[key].hours["train"] == pytest.approx(hours) and after[key].measured == ("train",)
    other = "qwen25-7b-hi-exp"
    assert after[other].hours["train"] == pytest.approx(3 * before[other].hours["train"])
    assert after[other].hours["evaluate"] == pytest.approx(before[other].hours["evaluate"])
    assert after[other].measured == ()


def test_every_study_is_planned(tmp_path: Path) -> None:
    pools = {
        "gpus": Pool(accelerator="a100-80", nodes=2, gpus=8, price=1.0),
        "slurm": Pool(accelerator="a100-80", nodes=8, gpus=4, price=1.0),
        "large": Pool(accelerator="h200", nodes=1, gpus=8, price=2.0),
        "cores": Pool(accelerator="cpu", nodes=1, gpus=2, price=0.0),
    }
    for path in sorted((PROJECT / "studies").glob("*.yaml")):
        found = planned(path.stem, ClusterFile(pools=pools), tmp_path)
        assert found.cells and found.disk_gb > 0, path.stem
        assert all(sum(cell.hours.values()) > 0 for cell in found.cells), path.stem


def test_recorded_answers_take_nothing_and_every_sample_its_time(tmp_path: Path) -> None:
    served = planned("tom-rl", ASSUMED, tmp_path)
    before = {cell.key: cell for cell in served.cells}
    study = find_study(PROJECT, "tom-rl").model_dump(mode="json")
    recorded = {"kind": "recorded", "title": "GPT-4o, recorded", "answers": "gpt-4o.jsonl"}
    study["base"]["models"]["gpt-4o"] = recorded
    study["evaluate"] |= {"samples": 4, "temperature": 0.7}
    found = plan_study(expand(Study.model_validate(study)), ASSUMED, tmp_path)
    assert found.unplanned == served.unplanned and "gpt-4o-base" in found.unplanned
    for cell in found.cells:
        once = before[cell.key]
        ratio = cell.hours["evaluate"] / once.hours["evaluate"]
        assert 3 < ratio < 4, "a side-check is answered once"
        assert cell.plan.kept > once.plan.kept


BAD = {
    "pools: {}": ("pools",),
    "pools: []": ("pools",),
    "nodes: 3": ("nodes",),
    "": ("holds nothing",),
    "pools: {a: {accelerator: tpu, nodes: 1, gpus: 4, price: 1}}": ("'tpu'", "a100-80"),
    "pools: {a: {accelerator: h100, nodes: 0, gpus: 4, price: 1}}": ("nodes", "0"),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4.5, price: 1}}": ("gpus", "4.5"),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4, price: -1}}": ("price", "-1"),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4, price: .inf}}": ("price", "inf"),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4}}": ("price",),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4, price: 1, disk: 3}}": ("disk",),
    "pools: {A b: {accelerator: h100, nodes: 1, gpus: 4, price: 1}}": ("A b",),
    "pools: {a: {accelerator: h100, nodes: 1, gpus: 4, price: 1, teraflops: 0}}": ("teraflops",),
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_cluster_file_is_named_with_its_field(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        run("--study", "grid", "--cluster", path)
    assert all(word in str(caught.value) for word in (str(path), *BAD[text]))


def test_a_cluster_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"gone\.yaml does not exist"):
        run("--study", "grid", "--cluster", "gone.yaml")


@pytest.mark.parametrize(
    ("study", "pool", "said"),
    [
        ("tom-rl", {"accelerator": "a100-80", "gpus": 1}, "it would fit on"),
        ("tom-rl", {"accelerator": "cpu", "gpus": 8}, "would fit in a pool of a100-80"),
        ("mini", {"accelerator": "h100", "gpus": 8}, "would fit in a pool with accelerator: cpu"),
    ],
)
def test_a_cell_that_fits_nowhere_says_where_it_would(
    study: str, pool: dict[str, Any], said: str, tmp_path: Path
) -> None:
    cluster = ClusterFile(pools={"small": Pool(nodes=1, price=1.0, **pool)})
    with pytest.raises(UserError, match="fits in no pool of the cluster") as caught:
        planned(study, cluster, tmp_path)
    assert said in str(caught.value) and "small: " in str(caught.value)


@pytest.mark.parametrize(
    ("layers", "heads", "gpus"), [(64, 40, 2), (110, 64, 4), (110, 40, 4), (110, 28, 4)]
)
def test_a_replica_takes_what_divides_its_heads(
    layers: int, heads: int, gpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the plan and by the engine; 102 GiB would be three times 40."""
    shape = replace(QWEN25["32B"], num_hidden_layers=layers, num_attention_heads=heads)
    monkeypatch.setitem(PUBLISHED, "Qwen/Qwen2.5-7B", shape)
    found = find_study(PROJECT, "tom-rl")
    asked = found.model_copy(update={"grid": found.grid.model_copy(update={"combinations": ()})})
    pool = Pool(accelerator="a100-80", nodes=1, gpus=8, price=1.0)
    plan = plan_study(expand(asked), ClusterFile(pools={"own": pool}), tmp_path)
    by_plan = next(cell.main.gpus for cell in plan.cells if cell.key == "qwen25-7b-base")
    by_engine = replica_gpus(2 * shape.parameters, heads, shape.num_key_value_heads)
    assert by_plan == by_engine == gpus


def test_a_model_of_few_heads_may_be_too_large_for_vllm() -> None:
    with pytest.raises(UserError, match=r"28 heads among at most 4 .* 200\.0 GiB: it takes 40 GiB"):
        replica_gpus(200 * 2**30, 28, 4)


def test_checkpoints_of_adapters_are_small() -> None:
    shape, cells = QWEN25["7B"], expand(find_study(PROJECT, "tom-rl")).cells
    whole = next(cell.train for cell in cells.values() if isinstance(cell, TrainedCell))
    thin = whole.model_copy(update={"lora": Lora(rank=32)})
    local = thin.model_copy(update={"backend": "local"})
    adapters = 12 * shape.adapters(32)
    assert while_training(shape, whole, critic=False) == 4 * 12 * shape.parameters
    assert while_training(shape, thin, critic=False) == 4 * (adapters + 2 * shape.parameters)
    assert while_training(shape, local, critic=False) == 2 * adapters


def test_a_pool_says_what_its_cards_hold(tmp_path: Path) -> None:
    """Where the name of an accelerator stands for another, for either backend and for asking."""
    named = Pool(accelerator="a100-80", nodes=1, gpus=4, price=1.0)
    assert planned("tom-rl", ClusterFile(pools={"own": named}), tmp_path).cells
    small = ClusterFile(pools={"own": named.model_copy(update={"memory": 40})})
    with pytest.raises(UserError, match=r"train@qwen25-7b-hi-exp fits .*, it has 40\.0"):
        planned("tom-rl", small, tmp_path)
    with pytest.raises(UserError, match=r"train.backend local needs .* a100-80, which has 1; tr"):
        planned(
            "smol", ClusterFile(pools={"own": named.model_copy(update={"memory": 1})}), tmp_path
        )
