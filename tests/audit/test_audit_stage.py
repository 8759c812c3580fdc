"""The audit stage on a small study of generated data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study import Study
from pipeline.stages import audit, dataset, sources, suite
from pipeline.stages.common import Stage
from tests.conftest import TINY
from tests.stages.made import make_data


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """The mini study with few stories, up to its datasets and suite."""
    text = (TINY / "studies" / "mini.yaml").read_text(encoding="utf-8")
    study: dict[str, Any] = yaml.safe_load(text)
    for source in study["acquire"].values():
        for split in ("train", "validation", "test"):
            if source.get(split):
                source[split] = 12
    for column in study["suite"]["tasks"].values():
        column.pop("limit", None)
    for combination in study["dataset"]["combinations"].values():
        for part in (*combination["train"], *combination["validation"]):
            part.pop("limit", None)
    return build(expand(Study.model_validate(study)), tmp_path)


def build(params: Params, root: Path) -> Stage:
    make_data(root, params)
    suite.main(Stage("suite", root, params))
    return Stage("audit", root, params)


def written(stage: Stage) -> dict[str, bytes]:
    folder = stage.runs / "audit"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_it_writes_findings_card_and_figures(stage: Stage) -> None:
    audit.main(stage)
    files = written(stage)
    assert set(files) == {
        "audit.json",
        "card.md",
        "figures/answer-balance.svg",
        "figures/rules-by-order.svg",
        "origins.json",
    }
    result = json.loads(files["audit.json"])
    assert set(result["columns"]) == set(stage.params.suite.tasks)
    for column in result["columns"].values():
        best = column["baselines"]["best"]
        assert column["baselines"]["rules"][best["rule"]] == best["accuracy"]
    for combination in stage.params.dataset:
        for leak in result["leakage"][combination].values():
            assert (leak["leaked"], leak["item"]) == (0, 0)
            assert leak["rows"] > 0
            assert leak["structure"] == leak["rows"], "three agents make eight structures"
        assert result["validation"][combination]["leaked"] == 0
    card = files["card.md"].decode()
    assert "## Sources" in card and "by-story" in card
    assert "## Validation rows that stand in training" in card
    audit.main(stage)
    assert written(stage) == files


def test_a_leak_is_refused_unless_it_is_published(stage: Stage) -> None:
    key = next(iter(stage.params.dataset))
    column = next(iter(stage.params.suite.tasks))
    source = stage.params.suite.tasks[column].task
    leaky = stage.params.dataset[key].model_copy(
        update={"train": (stage.params.suite.tasks[column],), "split": "by-story"}
    )
    params = stage.params.model_copy(update={"dataset": {key: leaky}})
    here = Stage("audit", stage.root, params)
    sources.main(here)
    dataset.main(here, key)
    with pytest.raises(UserError, match=f"rows of {column}"):
        audit.main(here)
    assert not (here.runs / "audit").exists(), source
    published = leaky.model_copy(update={"split": "published"})
    here = Stage("audit", stage.root, params.model_copy(update={"dataset": {key: published}}))
    dataset.main(here, key)
    audit.main(here)
    result = json.loads(written(here)["audit.json"])
    leak = result["leakage"][key][column]
    assert leak["leaked"] == leak["rows"] > 0


def test_stale_and_missing_training_sets_are_refused(stage: Stage) -> None:
    key = next(iter(stage.params.dataset))
    entry = stage.params.dataset[key]
    other = entry.model_copy(update={"train": (entry.train[0].model_copy(update={"limit": 3}),)})
    params = stage.params.model_copy(update={"dataset": {key: other}})
    with pytest.raises(UserError, match=f"force dataset@{key}"):
        audit.main(Stage("audit", stage.root, params))
    (stage.data / "combos" / key / "train.parquet").unlink()
    with pytest.raises(UserError, match="does not exist"):
        audit.main(stage)


@pytest.mark.parametrize(
    ("column", "says", "told"),
    [
        ("hi_tom_order_3", ["hi"], "names combination hi, which trains on no question of its kind"),
        ("hi_tom_orders_0_2", ["fan"], "leaves out combination hi, which trains on what 36 of"),
    ],
)
def test_what_a_study_says_falsely_is_refused(
    stage: Stage, column: str, says: list[str], told: str
) -> None:
    tasks = stage.params.suite.tasks
    said = tasks[column].model_copy(update={"trained": tuple(says)})
    suite = stage.params.suite.model_copy(update={"tasks": {**tasks, column: said}})
    here = Stage("audit", stage.root, stage.params.model_copy(update={"suite": suite}))
    with pytest.raises(UserError, match=f"study mini: suite.tasks.{column}.trained {told}"):
        audit.main(here)
    silent = {name: task.model_copy(update={"trained": ()}) for name, task in tasks.items()}
    suite = stage.params.suite.model_copy(update={"tasks": silent})
    audit.main(Stage("audit", stage.root, stage.params.model_copy(update={"suite": suite})))
