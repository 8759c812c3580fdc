"""``tomrl ui``: one process, which serves the runs and ends with the signal."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.base.ports import free_ports
from pipeline.config.params_file import read_params
from tests.alive import until
from tests.conftest import Run, environment
from tests.team.server import answers


@pytest.fixture
def started(checkout: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    (port,) = free_ports(1)
    process = subprocess.Popen(
        ["tomrl", "ui", "--port", str(port)],
        cwd=checkout,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    yield process, port
    if process.poll() is None:
        process.kill()
    process.wait()


def fetch(port: int, path: str) -> str:
    """A page, as soon as somebody answers."""
    address = f"http://127.0.0.1:{port}"
    assert until(lambda: answers(f"{address}/health"), 120)
    with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
        return str(answer.read().decode())


def test_the_runs_are_served_until_the_signal(
    started: tuple[subprocess.Popen[str], int], checkout: Path
) -> None:
    process, port = started
    assert "MLflow" in fetch(port, "/")
    experiments = "/ajax-api/2.0/mlflow/experiments"
    found = json.loads(fetch(port, f"{experiments}/get-by-name?experiment_name=tomrl"))
    whole = psutil.Process(process.pid)
    assert whole.children(recursive=True) == []
    assert whole.memory_info().rss < 700 * 2**20
    process.send_signal(signal.SIGTERM)
    shown, _ = process.communicate(timeout=15)
    page = f"http://127.0.0.1:{port}/#/experiments/{found['experiment']['experiment_id']}/runs"
    assert shown == f"MLflow: {page}?viewStateShareKey=mini&workflowType=machine_learning\n"
    tags = {tag["key"]: tag["value"] for tag in found["experiment"]["tags"]}
    saved = json.loads(tags["mlflow.sharedViewState.mini"])
    assert "tags.study = 'mini'" in saved["searchFilter"]
    columns = read_params(checkout / "params.yaml").suite.columns
    shown_metrics = [f"metrics.`evaluate/{column}/accuracy`" for column in columns]
    assert set(shown_metrics) <= set(saved["selectedColumns"])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not (checkout / "mlruns").exists()


def test_a_port_that_is_taken(typed: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        shown = typed("tomrl", "ui", "--port", port)
    assert shown.returncode == 2
    assert f"127.0.0.1:{port}: cannot listen there" in shown.stderr and "--port" in shown.stderr
