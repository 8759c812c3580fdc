"""A study that is asked to end leaves a run that is cancelled, and nothing that runs."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from prefect.states import Cancelling

from pipeline.ops.driver.checkout import use_study
from tests.alive import alive, until
from tests.conftest import TINY, commit, environment
from tests.prefect_server import own_server


@pytest.fixture
def asleep(tmp_path: Path) -> Path:
    """A checkout whose first stage sleeps."""
    root = tmp_path / "a checkout"
    (root / "studies").mkdir(parents=True)
    (root / "pipeline").mkdir()
    (root / ".dvc").mkdir()
    (root / ".dvc" / "config").write_text("[core]\n    analytics = false\n")
    (root / ".gitignore").write_text("/work\n/params.yaml\n/mlflow.db\n")
    (root / "studies" / "mini.yaml").write_bytes((TINY / "studies/mini.yaml").read_bytes())
    (root / "dvc.yaml").write_text(
        "stages:\n  audit: {cmd: sleep 600}\n  base: {foreach: '${models}', do: {cmd: sleep 600}}\n"
    )
    commit(root)
    use_study(root, "mini")
    return root


@pytest.mark.parametrize("how", ["page", pytest.param("Ctrl-C", marks=pytest.mark.nightly)])
def test_a_study_that_is_asked_to_end_is_cancelled(asleep: Path, tmp_path: Path, how: str) -> None:
    with own_server(tmp_path) as client:
        run = subprocess.Popen(
            ["tomrl", "run"],
            cwd=asleep,
            env=environment(tmp_path),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert until(lambda: alive(tmp_path, "sleep"), 300)
        (begun,) = client.read_flow_runs()
        assert begun.tags == ["tomrl"]  # by which automations know whose heartbeat to miss
        if how == "page":
            client.set_flow_run_state(begun.id, Cancelling())
        else:
            run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=120)
        assert run.returncode == 130 and "stopped; run it again to go on" in said, said
        assert not alive(tmp_path, "sleep")
        (ended,) = client.read_flow_runs()
    assert ended.state is not None and ended.state.is_cancelled(), ended.state
