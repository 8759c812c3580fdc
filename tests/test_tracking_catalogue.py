"""What MLflow has of a finished study: a parent with its report, datasets, models."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from pipeline.base.git import checked_out
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.model.manifest import Manifest
from pipeline.ops.mirror.cell_run import study_run
from pipeline.ops.mirror.send import complete
from pipeline.ops.mirror.server import EXPERIMENT, prepare
from pipeline.stages.common import Stage
from pipeline.stages.followed import followed
from tests.conftest import PROJECT, TINY
from tests.made_runs import write_study

_TABLES = ("metrics", "params", "runs", "inputs", "datasets", "logged_models")
_TABLES += ("tags", "experiments")


@pytest.fixture(scope="module")
def params() -> Params:
    return expand(find_study(TINY, "mini"))


@pytest.fixture(scope="module")
def sent(params: Params, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a finished study whose results were sent once."""
    root = tmp_path_factory.mktemp("sent")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        write_study(params, root)
        complete(params, root, again=True)
        yield root


@pytest.fixture
def client(sent: Path) -> MlflowClient:
    return prepare(sent)


def runs(client: MlflowClient, query: str) -> list[Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    return list(client.search_runs([experiment], query))


def counts(root: Path) -> dict[str, int]:
    with closing(sqlite3.connect(root / "mlflow.db")) as database:
        query = "select count(*) from {}"
        return {name: database.execute(query.format(name)).fetchone()[0] for name in _TABLES}


def test_a_study_has_its_report(client: MlflowClient) -> None:
    (parent,) = runs(client, "tags.level = 'study'")
    assert parent.info.status == "FINISHED"
    assert parent.data.metrics["accuracy/nano-hi.hi"] == 75
    kept = {each.path for each in client.list_artifacts(parent.info.run_id)}
    assert "index.html" in kept


def test_a_cell_has_datasets_and_configuration(client: MlflowClient) -> None:
    (run,) = runs(client, "tags.cell = 'nano-hi'")
    used = {(i.tags[0].value, i.dataset.name) for i in run.inputs.dataset_inputs}
    assert used == {
        ("train", "hi/train"),
        ("evaluate", "suite/hi_tom_orders_0_2"),
        ("evaluate", "suite/hi_tom_order_3"),
        ("evaluate", "suite/arithmetic"),
    }
    assert all(len(each.dataset.digest) == 32 for each in run.inputs.dataset_inputs)
    kept = {each.path for each in client.list_artifacts(run.info.run_id, "train")}
    assert kept == {"train/config.json", "train/checkpoints.json"}


def test_checkpoints_are_models_with_what_leads_to_their_weights(
    client: MlflowClient, sent: Path
) -> None:
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    logged = client.search_logged_models([experiment], "tags.study = 'mini'")
    names = {model.name for model in logged}
    assert names == {
        *("nano-base-base", "micro-base-base", "nano-hi-best", "nano-hi-last"),
        *("micro-hi-best", "micro-hi-last"),
    }
    assert {str(model.status) for model in logged} == {"READY"}
    (best,) = [model for model in logged if model.name == "nano-hi-best"]
    (run,) = runs(client, "tags.cell = 'nano-hi'")
    assert {each.model_id for each in run.outputs.model_outputs} >= {best.model_id}
    manifest = Manifest.read_of(sent / "runs/mini/nano-hi/train/checkpoints.json", "nano", "train")
    assert best.tags["digest"] == manifest.checkpoints["best"].digest


def test_sending_twice_stores_nothing_twice(sent: Path, params: Params) -> None:
    before = counts(sent)
    complete(params, sent, again=True)
    complete(params, sent)
    assert counts(sent) == before


def test_a_process_that_died_leaves_no_second_model(
    sent: Path, params: Params, tmp_path: Path
) -> None:
    """Dead before a model was ready."""
    root = tmp_path / "copy"
    shutil.copytree(sent, root)
    before = counts(root)
    with closing(sqlite3.connect(root / "mlflow.db")) as database:
        database.execute("update logged_models set status = 1")
        database.execute("delete from inputs where destination_type like '%MODEL%'")
        database.commit()
    complete(params, root)
    assert counts(root) == before


def test_each_commit_has_a_parent_and_the_last_has_the_cells(
    sent: Path, params: Params, tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(sent, root)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commits = []
    for stages in (("nano-hi", "micro-hi"), ("nano-hi",)):
        words = [*git, "commit", "-q", "--allow-empty", "-m", f"{stages}"]
        subprocess.run(words, cwd=root, check=True)
        commits.append(checked_out(root))
        for key in stages:
            with followed(Stage("train", root, params).of(key)):
                pass
        complete(params, root, stages)
    client = prepare(root)
    parents = {run.data.tags["commit"]: run for run in runs(client, "tags.level = 'study'")}
    names = [parents[commit].info.run_name for commit in commits]
    assert names == [f"study mini @ {commit[:7]}" for commit in commits]
    assert [parents[commit].data.tags["current"] for commit in commits] == ["false", "true"]
    assert parents["none"].data.tags["current"] == "false"

    def under() -> dict[str, str]:
        found = runs(client, "tags.level = 'cell'")
        return {run.data.tags["cell"]: run.data.tags["mlflow.parentRunId"] for run in found}

    first, second = (parents[commit].info.run_id for commit in commits)
    assert under() == {"nano-hi": second, "micro-hi": first} | dict.fromkeys(
        ("nano-base", "micro-base"), parents["none"].info.run_id
    )
    with study_run(params, root):
        complete(params, root)
    assert set(under().values()) == {second}
    (cell,) = runs(client, "tags.cell = 'micro-hi'")
    assert cell.data.tags["mlflow.source.git.commit"] == commits[0]


def test_documented_filters_find_runs(sent: Path, params: Params, tmp_path: Path) -> None:
    """Each filter of docs/reading-results.md, on a store that has something for all of them."""
    text = (PROJECT / "docs" / "reading-results.md").read_text()
    (block,) = re.findall(r"```sql\n(.*?)\n```", text, re.DOTALL)
    filters = [line for line in block.splitlines() if not line.startswith("--")]
    assert len(filters) == 12
    root = tmp_path / "copy"
    shutil.copytree(sent, root)
    client = prepare(root)
    tags = {"answers.hi_tom_style": "rule (last)", "mlflow.source.git.commit": 40 * "a"}
    tags |= {"collapse_step": "3", "shortcut": "last", "mlflow.user": "somebody"}
    for run in runs(client, "tags.level = 'cell'"):
        for name, value in tags.items():
            client.set_tag(run.info.run_id, name, value)
        status = {"nano-base": "FAILED", "micro-base": "KILLED"}.get(run.data.tags["cell"])
        client.update_run(run.info.run_id, status=status or "FINISHED")
    for query in filters:
        query = query.replace("rule_wrong", "hi_tom_order_3").replace("cued", "hi")
        found = {run.data.tags.get("cell", "-") for run in runs(client, query)}
        assert (
            found
            == {
                "tags.study": {"nano-hi"} if "algorithm" in query else set(params.cells),
                "tags.combination": {"nano-hi", "micro-hi"},
                "tags.level": {"-"},
                "tags.`mlflow.source.git.commit`": set(params.cells),
                "metrics.`evaluate/hi_tom_order_3/accuracy`": {"nano-hi"},
                "tags.`answers.hi_tom_style`": set(params.cells),
                "attributes.status": {"nano-base" if "FAILED" in query else "micro-base"},
                "tags.collapse_step": set(params.cells),
                "tags.shortcut": set(params.cells),
                "dataset.name": {"nano-hi", "micro-hi"},
            }[query.split()[0]]
        ), query
