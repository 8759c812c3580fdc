"""A study with a model behind an address: reported, with that model's rows marked absent."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from pipeline.analysis.collect import collect
from pipeline.analysis.table import markdown
from pipeline.config.expand import expand
from pipeline.config.params import ApiCell, Params
from pipeline.config.study import Study
from pipeline.data.card import BaseCard
from pipeline.stages import (
    acquire,
    audit,
    base,
    dataset,
    evaluate,
    judge,
    sources,
    suite,
    train,
)
from pipeline.stages.common import Stage
from tests.conftest import shrink


@pytest.fixture
def params(tmp_path: Path) -> Params:
    """The mini study, small, with GPT beside it; its own models are left out."""
    shrink(tmp_path)
    study = yaml.safe_load((tmp_path / "studies" / "mini.yaml").read_text())
    study["base"]["models"]["gpt"] = {"kind": "api", "title": "GPT", "model": "gpt-4o"}
    study["grid"]["evaluate_only"] = ["gpt"]
    params = expand(Study.model_validate(study))
    return params.model_copy(update={"cells": {"gpt-base": params.cells["gpt-base"]}})


def test_it_is_reported_as_absent(
    params: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    assert isinstance(params.cells["gpt-base"], ApiCell)

    def stage(name: str) -> Stage:
        return Stage(name, root, params)

    for key in params.acquire:
        acquire.main(stage("acquire"), key)
    sources.main(stage("sources"))
    dataset.main(stage("dataset"), "hi")
    suite.main(stage("suite"))
    audit.main(stage("audit"))
    base.main(stage("base"), "gpt")
    card = BaseCard.read_of(stage("base").runs / "base" / "gpt" / "card.json", "gpt", "base@gpt")
    assert (card.note, card.shown) == ("not known beyond its name", None)
    for module in (train, evaluate, judge):
        module.main(stage(module.__name__.rpartition(".")[2]), "gpt-base")
    said = capsys.readouterr().out
    assert "evaluate gpt-base: absent: gpt-4o is behind https://api.openai.com/v1, and" in said
    folder = stage("evaluate").runs / "gpt-base" / "evaluate"
    grades = pd.read_parquet(folder / "grades.parquet")
    assert grades.empty and "correct" in grades.columns
    table = markdown(collect(params, root))
    assert "| gpt-base | - | hi_tom_orders_0_2 | not known | absent | - | - |" in table
    assert not (root / "mlflow.db").exists(), "nothing ran, so no run is made"
