"""What ``tomrl export`` writes, opened by the tools that it is for."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipeline.ports import free_ports
from tests.conftest import PROJECT, type_command
from tests.engines.test_served import wait_for

TOOLS = PROJECT / ".venv-export" / "bin"
COLUMNS = {"hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"}


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment, these the tools'."""
    if not (TOOLS / "python").exists():
        pytest.skip(f"{TOOLS} does not exist; make it with: scripts/setup_export.sh")


@pytest.fixture(scope="module")
def scores(reproduced: tuple[Path, str]) -> dict[tuple[str, str], dict[str, Any]]:
    """The scores of a study as its stages have written them, by cell and column."""
    found = {}
    for path in sorted((reproduced[0] / "runs" / "mini").glob("*/*/metrics.json")):
        cell = path.parent.parent.name
        for column, each in json.loads(path.read_text()).get("tasks", {}).items():
            if "accuracy" in each:
                found[cell, column] = each
    return found


def exported(checkout: Path, kind: str, folder: Path, *cells: str) -> Path:
    done = type_command(
        checkout, folder.parent, "tomrl", "export", kind, *cells, "--to", str(folder)
    )
    assert done.returncode == 0, done.stderr
    return folder


def opened(kind: str, folder: Path) -> Any:
    reader = Path(__file__).with_name("opened.py")
    done = subprocess.run(
        [str(TOOLS / "python"), str(reader), kind, str(folder)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_inspect_reads_its_logs(
    reproduced: tuple[Path, str], scores: dict[tuple[str, str], dict[str, Any]], tmp_path: Path
) -> None:
    seen = opened("inspect", exported(reproduced[0], "inspect", tmp_path / "logs"))
    assert {(log["model"], log["task"]) for log in seen["logs"]} == {
        (f"mini/{cell}", column) for cell, column in scores
    }
    for log in seen["logs"]:
        own = scores[log["model"].removeprefix("mini/"), log["task"]]
        assert log["status"] == "success" and log["accuracy"] == own["accuracy"]
        assert (sum(log["right"]), len(log["right"])) == (own["correct"], own["count"])
        assert any(log["said"]) and all(log["asked"])
        assert set(log["stopped"]) <= {"stop", "max_tokens"}
    assert seen["evals"] == len(scores) == 6
    assert seen["samples"] == sum(each["count"] for each in scores.values())


def test_inspect_view_serves_the_logs(reproduced: tuple[Path, str], tmp_path: Path) -> None:
    folder = exported(reproduced[0], "inspect", tmp_path / "logs", "nano-hi")
    (port,) = free_ports(1)
    command = [str(TOOLS / "inspect"), "view", "start", "--log-dir", str(folder)]
    log, address = tmp_path / "view.log", f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(f"{address}/api/log-files", server, log)
            with urllib.request.urlopen(f"{address}/api/log-files") as answer:
                files = json.load(answer)["files"]
            assert {each["task"].replace("-", "_") for each in files} == COLUMNS
            for each in files:
                with urllib.request.urlopen(f"{address}/api/logs/{quote(each['name'], '')}") as got:
                    assert json.load(got)["samples"]
        finally:
            server.kill()
            server.wait()


def test_lm_eval_reads_its_samples(
    reproduced: tuple[Path, str], scores: dict[tuple[str, str], dict[str, Any]], tmp_path: Path
) -> None:
    folder = exported(reproduced[0], "lm-eval", tmp_path / "results", "nano-hi")
    seen = opened("lm-eval", folder)
    own = {column: each for (cell, column), each in scores.items() if cell == "nano-hi"}
    assert seen["rows"] == {column: each["count"] for column, each in own.items()}
    assert seen["loaded"] == sum(each["count"] for each in own.values())
    rows = [[cell.strip() for cell in line.split("|")] for line in seen["table"].splitlines()]
    shown = {row[1]: row[7] for row in rows if len(row) > 7 and row[5] == "acc"}
    assert shown == {column: f"{each['accuracy']:.4f}" for column, each in own.items()}
