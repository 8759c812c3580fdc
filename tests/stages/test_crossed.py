"""Both models asked with both prompts, from the study file to the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.analysis.collect import collect
from pipeline.analysis.square import SQUARE, square_findings, squares
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.model.manifest import Manifest
from pipeline.stages.checkpoint import checkpoint_answers
from pipeline.stages.common import Stage
from tests.conftest import PROJECT, edited, shrink
from tests.said import told, tomrl
from tests.stages.made import run_everything


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params]:
    """A study that was run, up to its report."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    shutil.copytree(PROJECT / "studies" / "records", root / "studies" / "records")
    with edited(root / "studies" / "mini.yaml") as study:
        study["evaluate"] |= {"base_prompt": "labelled", "crossed": True}
        study["base"]["models"]["nano"]["warm_start"]["steps"] = 60
    params = expand(find_study(root, "mini"))
    (root / "params.yaml").write_text(params_text(find_study(root, "mini")))
    run_everything(root, params)
    return root, params


def test_the_model_of_another_cell_is_passed_on(done: tuple[Path, Params]) -> None:
    runs = done[0] / "runs" / "mini"
    for key in ("nano-base", "nano-hi"):
        found = [
            Manifest.read_of(runs / name / "train" / "checkpoints.json", "nano", "train")
            for name in (key, f"{key}-crossed")
        ]
        assert found[0] == found[1]
        assert not (runs / f"{key}-crossed" / "train" / "metrics.jsonl").read_text()


def test_every_corner_is_what_its_cell_scored(done: tuple[Path, Params]) -> None:
    root, params = done
    results = collect(params, root)
    found = squares(results)
    assert [(square["cell"], square["task"]) for square in found] == [
        ("nano-hi", "hi_tom_orders_0_2"),
        ("nano-hi", "hi_tom_order_3"),
    ]
    for square in found:
        of = {key: result.tasks[square["task"]].accuracy for key, result in results.cells.items()}
        assert (
            square
            | {
                "base": of["nano-base"],
                "base_crossed": of["nano-base-crossed"],
                "trained_crossed": of["nano-hi-crossed"],
                "trained": of["nano-hi"],
            }
            == square
        )
        assert SQUARE.texts(square)[2] == f"{100 * of['nano-base']:.1f}"
    (sentence,) = square_findings(results)
    whole = sum(square["trained"] - square["base"] for square in found) / len(found)
    assert f"accuracy changes by {100 * whole:+.1f} (" in sentence
    assert "with prompt labelled to the trained one with compact" in sentence


def test_what_each_response_states_is_kept(done: tuple[Path, Params]) -> None:
    for key in done[1].cells:
        folder = done[0] / "runs" / "mini" / key
        claims = pd.read_parquet(folder / "judge" / "claims.parquet")
        responses = pd.read_parquet(folder / "evaluate" / "responses.parquet")
        responses = responses[responses["task"].isin(done[1].suite.tasks)]
        assert list(claims["id"]) == list(responses["id"])
        assert list(claims["task"]) == list(responses["task"])
        assert (claims["true"] <= claims["made"]).all() and (claims["decisive"] >= 1).all()
        verdicts = json.loads((folder / "judge" / "verdicts.json").read_text(encoding="utf-8"))
        (verdict,) = verdicts["tasks"].values()
        true = verdict["evidence"]["reasoning"]["true"]
        assert claims["made"].sum() == (true["count"] if true else 0)


def test_the_report_shows_the_square(done: tuple[Path, Params]) -> None:
    folder = done[0] / "reports" / "mini"
    assert "Prompt or training" in (folder / "index.html").read_text(encoding="utf-8")
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert len(written["squares"]) == 2
    assert {row["cell"] for row in written["rows"]} == {"nano-hi", "nano-hi-crossed"}


def compared(*words: str) -> dict[str, Any]:
    (pair,) = told("compare", *words)
    return dict(pair)


def check_exports(stage: Stage, digest: str, to: Path) -> None:
    """The last checkpoint is exported, not the one that the study evaluates."""
    tomrl("export", "inspect", "mini/nano-hi@last", "--to", str(to / "answers"))
    logs = sorted((to / "answers").glob("mini/nano-hi@last/*.json"))
    samples = [each for path in logs for each in json.loads(path.read_text())["samples"]]
    asked = stage.runs / "nano-base-crossed" / "evaluate" / "responses.parquet"
    expected = pd.read_parquet(asked)
    assert sorted(each["output"]["completion"] for each in samples) == sorted(expected["response"])
    tomrl("export", "model", "nano-hi@last", "--to", str(to / "model"))
    (weights,) = (to / "model").glob("*.safetensors")
    there = stage.weights_of("nano-hi").get(digest) / weights.name
    assert weights.read_bytes() == there.read_bytes()
    card = (to / "model" / "README.md").read_text(encoding="utf-8")
    assert f"sha256 of the folder {digest}" in card and "has no scores of this one" in card


def test_checkpoints_and_folders_of_answers_are_compared(
    done: tuple[Path, Params], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last checkpoint is made that of the base model: what it answers is known."""
    root, params = done
    monkeypatch.chdir(root)
    (root / "dvc.yaml").touch()
    runs = root / "runs" / "mini"
    path = runs / "nano-hi" / "train" / "checkpoints.json"
    trained = Manifest.read_of(path, "nano", "train")
    base_model = Manifest.read_of(runs / "nano-base" / "train" / "checkpoints.json", "nano", "base")
    last = trained.checkpoints["last"].model_copy(update={"digest": base_model.used.digest})
    checkpoints = {"best": trained.used, "last": last}
    made = trained.model_copy(update={"use": "best", "checkpoints": checkpoints})
    kept = path.read_text()
    stage = Stage("evaluate", root, params)
    stage.weights_of("nano-hi").share(stage.weights_of("nano-base"), base_model.used.digest)
    try:
        made.write(path)
        found = compared("nano-hi@last", "nano-hi@best")
        monkeypatch.setattr(TransformersEngine, "_loaded", None)  # whoever loads the model fails
        assert compared("nano-hi@last", "nano-hi@best") == found
        same = tomrl("compare", "nano-hi@best", "nano-hi")
        assert "mini/nano-hi@best and mini/nano-hi have the same answers" in same
        check_exports(stage, base_model.used.digest, tmp_path)
        with pytest.raises(UserError, match=r"keeps no such checkpoint; it keeps: best \(step"):
            checkpoint_answers(Stage("evaluate", root, params), "nano-hi", "999")
    finally:
        path.write_text(kept)
    folders = compared("runs/mini/nano-base-crossed/evaluate", str(runs / "nano-hi"))
    assert folders["columns"] == found["columns"] and folders["examples"] == found["examples"]
    turned = [name for column in found["columns"] for name in column["gained"] + column["lost"]]
    for example in found["examples"]:
        assert example["id"] in turned and example["A"] != example["B"]
        assert "(gold: " in example["question"]
