"""A probe from the study file to the metrics of training, through the stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.config.study_files import load_study
from pipeline.formats.files import read_lines
from pipeline.stages import base, train
from pipeline.stages.common import Stage
from tests.conftest import shrink
from tests.stages.made import make_data

COLUMNS = ["hi_tom_orders_0_2", "hi_tom_order_3"]


def study_with(folder: Path, probe: dict[str, Any] | None) -> dict[str, Any]:
    """The mini study at a size of seconds; 90 training rows, 30 a step."""
    shrink(folder, prompts_per_step=30)
    study: dict[str, Any] = yaml.safe_load((folder / "studies" / "mini.yaml").read_text())
    study["dataset"]["probe"] = probe
    return study


def trained(root: Path, study: dict[str, Any]) -> tuple[Stage, list[dict[str, Any]]]:
    params = expand(Study.model_validate(study))
    make_data(root, params)
    base.main(Stage("base", root, params), "nano")
    stage = Stage("train", root, params)
    train.main(stage, "nano-hi")
    return stage, read_lines(stage.runs / "nano-hi" / "train" / "metrics.jsonl")


def test_every_column_is_measured_on_the_base_model_by_epoch_and_at_the_end(tmp_path: Path) -> None:
    probe = {"columns": COLUMNS, "limit": 4}
    stage, rows = trained(tmp_path / "root", study_with(tmp_path / "study", probe))
    written = {path.stem: path for path in (stage.data / "combos" / "hi" / "probe").iterdir()}
    assert set(written) == set(COLUMNS)
    frames = {name: pd.read_parquet(path) for name, path in written.items()}
    assert [len(frame) for frame in frames.values()] == [4, 4]
    assert {info["order"] for info in frames["hi_tom_order_3"]["extra_info"]} == {3}
    trained_on = pd.read_parquet(stage.data / "combos" / "hi" / "train.parquet")["extra_info"]
    stories = {info["story_id"] for info in trained_on}
    assert not stories & {i["story_id"] for f in frames.values() for i in f["extra_info"]}
    probed = {row["step"]: row for row in rows if any(key.startswith("probe/") for key in row)}
    assert list(probed) == [0, 3, 4]
    assert all(0 <= row[f"probe/{name}"] <= 1 for row in probed.values() for name in COLUMNS)


def test_a_probe_of_an_unknown_column_is_refused(tmp_path: Path) -> None:
    study = study_with(tmp_path, {"columns": ["hi_tom_order_9"]})
    path = tmp_path / "studies" / "wrong.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    with pytest.raises(UserError, match="dataset.probe.columns.0: found 'hi_tom_order_9'; allowed"):
        load_study(path)
