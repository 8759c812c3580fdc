"""A sweep that a real worker runs for a real server, of stages with empty bodies."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelling

from benchmarks.empty_stage import MADE
from benchmarks.sweep import STUDY, clone, make_results
from flows.deploy import deploy
from flows.sweeps.record import SweepFolder
from tests.alive import alive, until
from tests.conftest import PROJECT, commit, ended_well, environment
from tests.prefect_server import own_server

pytestmark = [pytest.mark.nightly, pytest.mark.chain]
WORKER = (sys.executable, "-m", "prefect", "worker", "start", "--pool", "tomrl", "--run-once")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[SyncPrefectClient]:
    with own_server(tmp_path) as found:
        yield found


def begun(client: SyncPrefectClient, checkout: Path) -> tuple[FlowRun, subprocess.Popen[str]]:
    """Ask for a sweep, and start a worker that takes it."""
    sweep = client.read_deployment_by_name(f"scheduled sweep/{STUDY}")
    run = client.create_flow_run_from_deployment(sweep.id)
    said = subprocess.PIPE
    variables = {**environment(checkout.parent), MADE: str(checkout.parent / "made")}
    return run, subprocess.Popen(WORKER, cwd=checkout, env=variables, stderr=said, text=True)


def test_a_worker_runs_a_sweep_which_is_cancelled_and_goes_on(
    client: SyncPrefectClient, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    params = clone(PROJECT, checkout, few=True)
    make_results(params, tmp_path / "made")
    pipeline = checkout / "dvc.yaml"
    audit = "python -m benchmarks.empty_stage audit"
    asleep = f"'[ -e {tmp_path / 'go'} ] || sleep 600; {audit}'"
    pipeline.write_text(pipeline.read_text().replace(audit, asleep))
    commit(checkout)
    assert {each.how for each in deploy(checkout)} == {"made"}

    def runs() -> list[FlowRun]:
        """Those of the sweep: the server has scheduled checks, too."""
        return [run for run in client.read_flow_runs() if run.name.startswith("sweep-")]

    def states() -> set[str | None]:
        return {run.state_name for run in runs()}

    run, worker = begun(client, checkout)
    assert until(lambda: alive(tmp_path, "sleep") or worker.poll() is not None, 300)
    client.set_flow_run_state(run.id, Cancelling())
    _, said = worker.communicate(timeout=120)
    assert not alive(tmp_path, "sleep") and states() == {"Cancelled"}, said
    assert not SweepFolder(checkout, STUDY).sweep().ended

    (tmp_path / "go").touch()
    run, worker = begun(client, checkout)
    _, said = worker.communicate(timeout=900)
    assert states() == {"Cancelled", "Completed"}, said
    assert all("tomrl" in each.tags for each in runs())
    folder = SweepFolder(checkout, STUDY)
    assert folder.sweep().ended
    assert {folder.cell(key).state for key in params.cells} == {"done"}
    made = {run.name for run in client.read_task_runs()}
    data = {f"dataset@{name}" for name in params.dataset}
    assert {"code", "expand", *data, "suite", "audit", "report"} <= made

    assert tables(client) == Counter({f"sweep-{STUDY}": 1})
    _, worker = begun(client, checkout)
    worker.communicate(timeout=300)
    ended_well(checkout, "tomrl", "run")
    assert tables(client) == Counter({f"sweep-{STUDY}": 2, f"results-{STUDY}": 1})


def tables(client: SyncPrefectClient) -> Counter[str | None]:
    """How many tables of results a server was given, by their names."""
    return Counter(each.key for each in client.read_artifacts() if each.key)
