"""A sweep or study that is asked to end leaves a run that is cancelled, and nothing that runs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from prefect import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling

from flows.driver.stopping import StopRequested
from flows.sweeps.deployed import run_sweep
from flows.sweeps.record import SweepFolder, sweep_folder
from flows.sweeps.start import begin
from pipeline.base.processes import Terminated, raise_on_sigterm
from pipeline.ops.driver.checkout import use_study
from tests.alive import alive, until
from tests.conftest import TINY, commit, environment, prefect_home
from tests.prefect_server import server


@pytest.fixture
def asleep(tmp_path: Path) -> SweepFolder:
    """A sweep whose first stage sleeps."""
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
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit(root)
    folder = sweep_folder(root, "mini")
    begin(folder, "mini", allow_edits=False)
    return folder


@pytest.fixture
def signals() -> Iterator[None]:
    """This process, with SIGTERM as the command has it."""
    before = signal.getsignal(signal.SIGTERM)
    raise_on_sigterm()
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.nightly
def test_a_sweep_that_is_asked_to_end_is_cancelled(
    asleep: SweepFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signals: None
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home(tmp_path)))
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    log = asleep.log("audit")

    def ask() -> None:
        assert until(lambda: log.exists() and "Running stage 'audit'" in log.read_text(), 300)
        os.kill(os.getpid(), signal.SIGTERM)

    with server() as address, temporary_settings({PREFECT_API_URL: address}):
        Thread(target=ask).start()
        with pytest.raises(StopRequested) as asked:
            run_sweep(asleep.name, str(asleep.home), 1)
        assert isinstance(asked.value.by, Terminated)
        with get_client(sync_client=True) as client:
            (run,) = client.read_flow_runs()
    assert run.state is not None and run.state.is_cancelled(), run.state


@pytest.mark.parametrize("how", ["page", pytest.param("Ctrl-C", marks=pytest.mark.nightly)])
def test_a_study_that_is_asked_to_end_is_cancelled(
    asleep: SweepFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home(tmp_path)))
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    use_study(asleep.home, "mini")

    with (
        server() as address,
        temporary_settings({PREFECT_API_URL: address}),
        get_client(sync_client=True) as client,
    ):
        run = subprocess.Popen(
            ["tomrl", "run"],
            cwd=asleep.home,
            env={**environment(tmp_path), "PREFECT_API_URL": address},
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
