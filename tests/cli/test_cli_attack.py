"""``tomrl attack`` on a cell, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params_file import params_text, read_params
from pipeline.config.study_files import find_study
from pipeline.data.codec import read_dataset
from pipeline.stages import train
from pipeline.stages.common import Stage
from tests.conftest import edited, shrink
from tests.said import told, tomrl
from tests.stages.made import make_base, make_data


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    study = find_study(root, "mini")
    params = expand(study)
    (root / "params.yaml").write_text(params_text(study))
    (root / "dvc.yaml").write_text("")
    make_base(root, params)
    train.main(Stage("train", root, params), "nano-base")
    return root


def test_what_a_cell_gets_wrong_is_shown_written_and_found_again(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    typed = ("attack", "nano-base", "-n", "8", "--budget", "80", "-o", "found.jsonl")
    assert "Shortest stories that nano-base gets wrong" in tomrl(*typed)
    text = (checkout / "found.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert 1 <= len(rows) <= 8
    for row in rows:
        assert row["answer"] in row["choices"] and row["order"] in (1, 2)
    figures = told(*typed)
    assert (checkout / "found.jsonl").read_text() == text
    assert figures["kept"] == len(rows) and figures["wrong"] >= len(rows)
    assert figures["asked"] - figures["right"] == figures["wrong"]


def test_a_cell_that_does_not_exist_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    with pytest.raises(UserError, match="nano-bose"):
        tomrl("attack", "nano-bose")


def test_a_study_trains_on_what_was_found(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(checkout)
    found = tmp_path / "found.jsonl"
    said = tomrl("attack", "nano-base", "-n", "8", "--budget", "80", "-o", found)
    digest = said.rpartition("sha256 ")[2].split()[0]
    shrink(tmp_path)
    with edited(tmp_path / "studies" / "mini.yaml") as study:
        (name,) = study["grid"]["combinations"]
        study["dataset"]["combinations"][name]["train"] = [{"task": "hi_tom_style_found"}]
        source = study["acquire"]["hi_tom_style"]
        source |= {"structures": "any", "found": {"file": found.name, "sha256": digest}}
    params = expand(find_study(tmp_path, "mini"))
    assert params.base == read_params(checkout / "params.yaml").base, "what was attacked is trained"
    make_data(tmp_path, params)
    (key,) = params.dataset
    trained = read_dataset(tmp_path / "data" / "mini" / "combos" / key / "train.parquet")
    wanted = {json.loads(line)["story"] for line in found.read_text().splitlines()}
    assert {row.example.story for row in trained} == wanted
    assert all(row.example.meta["trace"] for row in trained)
