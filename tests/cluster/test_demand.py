"""Clusters that have no room yet: nodes that Ray's autoscaler starts, and jobs that Ray gives up.

The autoscaler is Ray's own, the nodes that it starts are raylets on this machine (Ray's provider
``fake_multinode``) with accelerators by name only.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.ops.cluster.client import Address, Client, connect
from pipeline.ops.cluster.demand import VARIABLE, minutes_of
from pipeline.ops.cluster.head import engine_environment
from tests.alive import until
from tests.cluster.conftest import HOLD, Heard, MakeJob
from tests.raylets import FLAGS, STORE, alive, python_without_blanks

COMMANDS = (  # which nodes of other providers are set up with
    *("cluster_synced_files", "initialization_commands", "setup_commands"),
    *("head_setup_commands", "worker_setup_commands"),
    *("head_start_ray_commands", "worker_start_ray_commands"),
)
COUNT = """
    import ray
    ray.init(address="auto")
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("GPU")]
    print("step", len(nodes), "nodes with", [int(n["Resources"]["GPU"]) for n in nodes], flush=True)
    """


@contextmanager
def head(folder: Path, port: int, *flags: str, **variables: str) -> Iterator[Address]:
    """A head of one processor and no accelerator that speaks its own protocol at a port."""
    dashboard, client = free_ports(2)
    address = Address(f"http://127.0.0.1:{dashboard}", secrets.token_hex(16), "RAY_ADDRESS")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    python = python_without_blanks(Path(sys.executable), folder)
    command = [
        *(str(python), "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--node-ip-address=127.0.0.1", f"--port={port}", "--num-cpus=1", "--num-gpus=0"),
        *("--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"),
        *(f"--ray-client-server-port={client}", f"--temp-dir={folder / 'ray'}", *FLAGS, *flags),
    ]
    environment = {
        **engine_environment(python, kept),
        **{"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": str(address.token)},
        **variables,
    }
    log = folder / "log"
    with log.open("w") as output:
        process = psutil.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        assert until(lambda: alive(address), 120), log.read_text()
        yield address
    finally:
        for each in [*process.children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()


@pytest.fixture(scope="module")
def autoscaled() -> Iterator[Address]:
    """A head that starts up to two nodes of one accelerator each, when they are asked for."""
    (port,) = free_ports(1)
    accelerated = {"CPU": 1, "GPU": 1, "object_store_memory": STORE}
    scaling = {
        "cluster_name": "fake",
        "max_workers": 2,
        "idle_timeout_minutes": 10,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": f"127.0.0.1:{port}",
            # All are at one address, and none is set up.
            "use_node_id_as_ip": True,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
        },
        "auth": {},
        "upscaling_speed": 1.0,
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        **{name: [] for name in COMMANDS},
        "head_node_type": "ray.head.default",
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0},
            "accelerated": {"resources": accelerated, "node_config": {}, "max_workers": 2},
        },
    }
    variables = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    # Its path leaves room for Ray's sockets.
    with TemporaryDirectory(prefix="tomrl-", dir="/tmp", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "scaling.json").write_text(json.dumps(scaling))
        flag = f"--autoscaling-config={folder / 'scaling.json'}"
        with head(folder, port, flag, **variables) as address:
            yield address


@pytest.fixture
def growing(autoscaled: Address, monkeypatch: pytest.MonkeyPatch) -> Client:
    """That cluster, as a user names it who knows that it grows."""
    monkeypatch.setenv("RAY_ADDRESS", autoscaled.url)
    monkeypatch.setenv("RAY_AUTH_TOKEN", str(autoscaled.token))
    monkeypatch.setenv(VARIABLE, "2")
    return connect(autoscaled)


def test_a_cluster_grows_with_what_its_jobs_need(
    growing: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv(VARIABLE)
        with pytest.raises(UserError, match=r"cluster has 0 GPUs.* set TOMRL_NODE_MIN"):
            Heard().run(make_job(COUNT, gpus=1))
        patch.setenv(VARIABLE, "0.1")
        with pytest.raises(
            UserError, match=r"1 node with 2 GPUs each did not come within 0\.1 min"
        ):
            Heard().run(make_job(COUNT, gpus=2))
    assert growing.node_accelerators() == [0], "no node has two"

    heard = Heard()  # its command takes a part, as vLLM's and the local trainer's do
    assert heard.run(make_job(COUNT, gpus=0, own_gpus=0.5)).status == "succeeded"
    assert heard.saying("step") == ["step 1 nodes with [1]"]
    assert growing.node_accelerators() == [1, 0]

    heard = Heard()  # its ranks take all of two nodes, as verl's do
    assert heard.run(make_job(COUNT, gpus=1, nodes=2)).status == "succeeded"
    assert heard.saying("step") == ["step 2 nodes with [1, 1]"]
    assert any("cluster: waiting for 2 nodes with 1 GPU each" in line for line in heard.lines)
    assert growing.node_accelerators() == [1, 1, 0]


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_time_that_is_none(text: str) -> None:
    with pytest.raises(UserError, match=rf"{VARIABLE}='{text}' is not a time; allowed: a number"):
        minutes_of({VARIABLE: text})
    assert (
        minutes_of({}) == minutes_of({VARIABLE: "0"}) == 0 and minutes_of({VARIABLE: "1.5"}) == 1.5
    )


@pytest.mark.nightly
def test_a_job_that_ray_gives_up_waits_on(
    make_job: MakeJob, heard: Heard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ray lets a job fail that has not begun after a quarter of an hour, here ten seconds."""
    release = tmp_path / "release"
    holder = make_job(HOLD, str(release), gpus=0, own_cpus=1)
    again = "cluster: Ray gave up the job after a long wait; it is submitted again"
    with TemporaryDirectory(prefix="tomrl-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        (port,) = free_ports(1)
        with head(Path(folder), port, RAY_JOB_START_TIMEOUT_SECONDS="10") as address:
            monkeypatch.setenv("RAY_ADDRESS", address.url)
            monkeypatch.setenv("RAY_AUTH_TOKEN", str(address.token))
            client, command = connect(address), " ".join(holder.arguments)
            client.submit(command, "holder", holder.runtime_environment, holder.takes)
            assert until(lambda: client.get_job_status("holder") == "RUNNING")
            left = f"{holder.identity}-left"  # by a stage that was killed
            client.submit(command, left, holder.runtime_environment, holder.takes)
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(heard.run, holder)
                assert until(lambda: again in heard.lines), heard.lines
                release.touch()
                assert waiting.result(60).status == "succeeded"
            assert heard.lines[0] == f"cluster: following job {left}"
