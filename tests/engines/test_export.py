"""What ``tomrl export`` writes, opened by the tools that it is for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT, ended_well
from tests.engines.conftest import own_checkout

TOOLS = PROJECT / ".venv-export" / "bin"
COLUMNS = {"hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"}
CELL = "nano-base"
Scores = dict[str, dict[str, Any]]


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment, these the tools'."""
    if not (TOOLS / "python").exists():
        pytest.skip(f"{TOOLS} does not exist; make it with: scripts/setup_export.sh")


@pytest.fixture(scope="module")
def answered(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which the base model has answered everything."""
    checkout = own_checkout(study, tmp_path_factory.mktemp("answered") / "a folder with spaces")
    ended_well(checkout, "dvc", "repro", f"evaluate@{CELL}")
    return checkout


@pytest.fixture(scope="module")
def scores(answered: Path) -> Scores:
    """The scores of the cell by column, as its stages have written them."""
    files = (answered / "runs" / "mini" / CELL).glob("*/metrics.json")
    tasks = [json.loads(path.read_text())["tasks"] for path in files]
    return {column: each for found in tasks for column, each in found.items()}


def exported(checkout: Path, folder: Path) -> Path:
    ended_well(checkout, "tomrl", "export", "inspect", CELL, "--to", str(folder))
    return folder


def opened(folder: Path) -> Any:
    reader = Path(__file__).with_name("opened.py")
    done = subprocess.run(
        [str(TOOLS / "python"), str(reader), str(folder)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_inspect_reads_its_logs(answered: Path, scores: Scores, tmp_path: Path) -> None:
    seen = opened(exported(answered, tmp_path / "logs"))
    assert {log["task"] for log in seen["logs"]} == set(scores) == COLUMNS
    assert {log["model"] for log in seen["logs"]} == {f"mini/{CELL}"}
    for log in seen["logs"]:
        own = scores[log["task"]]
        assert log["status"] == "success" and log["accuracy"] == own["accuracy"]
        assert (sum(log["right"]), len(log["right"])) == (own["correct"], own["count"])
        assert any(log["said"]) and all(log["asked"])
        assert set(log["stopped"]) <= {"stop", "max_tokens"}
    assert seen["evals"] == len(scores)
    assert seen["samples"] == sum(each["count"] for each in scores.values())
