"""``tomrl export``: what it writes of a real study, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.analysis.export.folder import NOTE
from pipeline.base.errors import UserError
from pipeline.formats.files import folder_digests
from tests.conftest import edited
from tests.said import tomrl

pytestmark = pytest.mark.chain
CELLS = ("nano-base", "nano-hi")
COLUMNS = {"hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"}


@pytest.fixture
def study(reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results of a study, in use."""
    there = tmp_path / "study"
    for name in ("runs", "data", "logs", "studies"):
        shutil.copytree(reproduced / name, there / name)
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(reproduced / name, there / name)
    monkeypatch.chdir(there)
    return there


def run(*words: object) -> str:
    return tomrl("export", *words)


def recorded(study: Path, cell: str, column: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The grades and scores of a column, as the stages have written them."""
    folder = study / "runs" / "mini" / cell / "evaluate"
    grades = pd.read_parquet(folder / "grades.parquet").query("task == @column")
    responses = pd.read_parquet(folder / "responses.parquet").query("task == @column")
    scores = json.loads((folder / "metrics.json").read_text())["tasks"][column]
    return grades.assign(response=responses["response"]), scores


def test_inspect_logs_hold_every_answer(study: Path) -> None:
    shown = run("inspect", "--to", "out")
    assert "6 logs in out" in shown and "export: 2/2" in shown
    logs = [json.loads(path.read_text()) for path in study.glob("out/mini/*/*.json")]
    found = {(log["eval"]["metadata"]["cell"], log["eval"]["task"]) for log in logs}
    assert found == {(cell, column) for cell in CELLS for column in COLUMNS}
    for log in logs:
        cell, column = log["eval"]["metadata"]["cell"], log["eval"]["task"]
        grades, scores = recorded(study, cell, column)
        assert [each["id"] for each in log["samples"]] == list(grades["id"])
        right = [each["scores"]["published"]["value"] == "C" for each in log["samples"]]
        assert right == list(grades["correct"])
        said = [each["output"]["completion"] for each in log["samples"]]
        assert said == list(grades["response"])
        headline = log["results"]["scores"][0]["metrics"]
        assert headline["accuracy"]["value"] == scores["accuracy"]
        used = log["stats"]["model_usage"][f"mini/{cell}"]
        assert used["output_tokens"] == grades["tokens"].sum()
        assert log["stats"]["started_at"] <= log["stats"]["completed_at"]
    orders = {e["metadata"]["belief_order"] for log in logs for e in log["samples"]}
    assert orders == {0, 1, 2, 3, None}


def test_the_same_results_give_the_same_bytes(study: Path) -> None:
    run("inspect", "--to", "one")
    run("inspect", "mini/nano-hi", "nano-base", "nano-hi", "--to", "two")
    one, two = folder_digests(study / "one"), folder_digests(study / "two")
    del one[NOTE], two[NOTE]
    assert one == two


def test_times_come_from_files_where_the_log_is_gone(study: Path) -> None:
    shutil.rmtree(study / "logs")
    run("inspect", "nano-hi", "--to", "out")
    logs = [json.loads(path.read_text()) for path in study.glob("out/mini/nano-hi/*.json")]
    assert len(logs) == 3
    assert all(log["stats"]["started_at"] == log["stats"]["completed_at"] for log in logs)


def test_only_an_export_is_replaced(study: Path) -> None:
    (study / "empty").mkdir()
    run("inspect", "nano-hi", "--to", "empty")
    before = folder_digests(study / "empty")
    with pytest.raises(UserError, match="earlier export; replace it with --force"):
        run("inspect", "--to", "empty")
    assert folder_digests(study / "empty") == before
    run("inspect", "nano-base", "--to", "empty", "--force")
    assert not list(study.glob("empty/mini/nano-hi")) and list(study.glob("empty/mini/nano-base"))
    log = next(study.glob("empty/mini/nano-base/*.json"))
    mine = {study / "empty" / "NOTES.md": "mine", study / "empty" / ".git" / "HEAD": "ref", log: ""}
    for path, text in mine.items():
        before_edit = path.read_bytes() if path.exists() else None
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        with pytest.raises(
            UserError, match="holds what no export wrote, or somebody edited: "
        ) as e:
            run("inspect", "nano-hi", "--to", "empty", "--force")
        assert str(path.relative_to(study / "empty")) in str(e.value) and path.read_text() == text
        path.unlink() if before_edit is None else path.write_bytes(before_edit)
    with pytest.raises(UserError, match="runs holds other files"):
        run("inspect", "--to", "runs", "--force")
    with pytest.raises(UserError, match="params.yaml is not a folder"):
        run("inspect", "--to", "params.yaml", "--force")


def test_what_is_not_there_is_said(study: Path) -> None:
    with pytest.raises(
        UserError, match="'nano-no' does not exist .*; there are: nano-base, nano-hi"
    ):
        run("inspect", "nano-no", "--to", "out")
    shutil.rmtree(study / "runs" / "mini" / "nano-hi" / "evaluate")
    with pytest.raises(UserError, match="not evaluated yet; run: dvc repro evaluate@nano-hi"):
        run("inspect", "nano-hi", "--to", "more")
    shutil.rmtree(study / "runs")
    with pytest.raises(UserError, match="no cell of mini is evaluated yet; run: tomrl run"):
        run("inspect", "--to", "more")
    assert not (study / "more").exists()


def test_a_cell_that_was_not_run_has_no_answers(study: Path) -> None:
    path = study / "runs" / "mini" / "nano-hi" / "evaluate" / "metrics.json"
    scores = json.loads(path.read_text())
    path.write_text(json.dumps(scores | {"tasks": {}, "absent": "no key"}))
    assert "nano-hi: without answers, as the model was not run" in run("inspect", "--to", "out")
    assert not list(study.glob("out/mini/nano-hi"))
    with pytest.raises(UserError, match="no cell that was named has answers; nothing is written"):
        run("inspect", "nano-hi", "--to", "more")
    assert not (study / "more").exists()


def test_another_prompt_than_the_model_was_shown_is_refused(study: Path) -> None:
    with edited(study / "params.yaml") as params:
        params["cells"]["nano-hi"]["evaluate"] = {"prompt": "labelled"}
    with pytest.raises(UserError, match="it answers other questions than the study asks now"):
        run("inspect", "nano-hi", "--to", "out")
    assert not list(study.glob("*out*"))
