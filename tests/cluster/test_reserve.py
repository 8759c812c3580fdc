"""Clusters that have no room yet: accelerators that others hold, nodes that are still to start.

The autoscaler is Ray's own, the nodes that it starts are raylets on this machine (Ray's provider
``fake_multinode``) with accelerators by name only.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.ops.cluster.client import Address, Client
from pipeline.ops.cluster.follow import Clock
from pipeline.ops.cluster.head import engine_environment
from pipeline.ops.cluster.job import (
    HOLDS,
    NODE_DISK,
    NODE_MINUTES,
    WAITS,
    Job,
    JobOutcome,
    node_minutes,
)
from tests.alive import until
from tests.cluster.conftest import GPUS, HOLD, Heard, MakeJob
from tests.conftest import PROJECT
from tests.engines.nodes import FIRST, SECOND, Nodes
from tests.raylets import FLAGS, STORE, alive, python_without_blanks, used, without_ray

COMMANDS = (  # which nodes of other providers are set up with
    *("cluster_synced_files", "initialization_commands", "setup_commands"),
    *("head_setup_commands", "worker_setup_commands"),
    *("head_start_ray_commands", "worker_start_ray_commands"),
)
RESERVE = """
    import os, pathlib, sys, time
    from pipeline.ops.cluster.job_lines import work_off
    from pipeline.ops.cluster.reserve import reserved

    def hold():
        nodes, gpus, until = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
        with reserved(nodes, gpus, gpus, sys.argv[4:], os.environ.get("TOMRL_NODE_DISK")):
            print("step 1", flush=True)
            while not until.exists():
                time.sleep(0.1)
        return "done"

    work_off(hold)
    """
"""A program that holds a reservation until there is a file of the name that it is given."""
RANKS = """
    import os, torch, ray
    from verl.single_controller.ray import base
    from pipeline.ops.cluster.reserve import reserved
    from pipeline.ops.verl import placed

    class Rank:
        def __init__(self):
            node = ray.util.get_node_ip_address()
            self.place = int(os.environ["RANK"]), node, os.environ["CUDA_VISIBLE_DEVICES"]

        def look(self):
            return self.place

    with reserved(2, 2, 2) as variables:
        os.environ.update(variables)
        placed.use_reservation()
        ranks = base.RayClassWithInitArgs(ray.remote(Rank))
        pools = base.ResourcePoolManager({"pool": [2, 2]}, {0: "pool"})
        pools.create_resource_pool()
        group = base.RayWorkerGroup(pools.get_resource_pool(0), ranks)
        for rank in sorted(group.execute_all_sync("look")):
            print("step", *rank, flush=True)
    """
"""A program in which verl starts its ranks inside a reservation."""
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
    python = python_without_blanks(Path(sys.executable), folder)
    command = [
        *(str(python), "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--node-ip-address=127.0.0.1", f"--port={port}", "--num-cpus=1", "--num-gpus=0"),
        *("--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"),
        *(f"--ray-client-server-port={client}", f"--temp-dir={folder / 'ray'}", *FLAGS, *flags),
    ]
    environment = {
        **engine_environment(python, without_ray()),
        **{"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": str(address.token)},
        "PYTHONPATH": str(PROJECT),  # of the jobs
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
    monkeypatch.setenv(NODE_MINUTES, "2")
    return used(autoscaled, monkeypatch)


@pytest.fixture(scope="module")
def two_of_four() -> Iterator[Nodes]:
    """A cluster of two nodes with four accelerators each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        with Nodes.two(Path(sys.executable), 4) as nodes:
            yield nodes


@pytest.fixture
def nodes(two_of_four: Nodes, monkeypatch: pytest.MonkeyPatch) -> Client:
    """That cluster, as a user names it."""
    return used(two_of_four.address, monkeypatch)


def test_what_fits_on_no_node_waits_and_holds_nothing(
    nodes: Client, make_job: MakeJob, tmp_path: Path
) -> None:
    """Of two nodes of four accelerators half of each is taken: as many are free as a cell takes."""
    ends = {name: tmp_path / f"{name}.ends" for name in ("half", "large", "small", "other")}
    heard = {name: Heard() for name in ends}

    def started(name: str) -> bool:
        return "step 1" in heard[name].lines

    with ThreadPoolExecutor(4) as pool:

        def begin(name: str, count: int, gpus: int) -> Future[JobOutcome]:
            words = (str(count), str(gpus), str(ends[name]))
            job = make_job(RESERVE, *words, name=name, nodes=count, gpus=gpus)
            return pool.submit(heard[name].run, job)

        running = [begin("half", 2, 2)]
        assert until(lambda: started("half"), 60), heard["half"].lines
        assert until(lambda: nodes.free_accelerators() == [2, 2, 0])
        running.append(begin("large", 1, 4))
        waits = f"{WAITS}1 node with 4 GPUs each, free on as many at once"
        assert until(lambda: waits in heard["large"].lines, 60), heard["large"].lines
        assert nodes.free_accelerators() == [2, 2, 0], "it holds nothing"
        running += [begin("small", 1, 2), begin("other", 1, 2)]
        assert until(lambda: started("small") and started("other"), 90), heard
        assert not started("large")
        assert until(lambda: nodes.free_accelerators() == [0, 0, 0])
        ends["half"].touch()
        ends["small"].touch()
        assert until(lambda: started("large"), 90), heard["large"].lines
        for end in ends.values():
            end.touch()
        assert [each.result(90).status for each in running] == ["succeeded"] * 4
    assert until(lambda: nodes.free_accelerators() == [4, 4, 0])


def test_a_node_without_a_folder_is_named(nodes: Client, make_job: MakeJob, tmp_path: Path) -> None:
    (end := tmp_path / "end").touch()
    unseen = tmp_path / "unseen"
    words = ("2", "1", str(end), str(tmp_path), str(unseen))
    with pytest.raises(UserError, match=rf"^{unseen} is not on the node .*: the checkout must"):
        Heard().run(make_job(RESERVE, *words, nodes=2, gpus=1))
    there, gone = (
        make_job(RESERVE, *words[:-1], nodes=2, gpus=1, environment={NODE_DISK: str(disk)})
        for disk in (tmp_path, unseen)
    )
    assert Heard().run(there).status == "succeeded"
    with pytest.raises(UserError, match=rf"^{NODE_DISK}: found {unseen}, which is no folder that"):
        Heard().run(gone)


@pytest.mark.nightly
@pytest.mark.verl
def test_ranks_of_verl_have_an_accelerator_each_of_what_is_reserved(
    nodes: Client, make_job: MakeJob, heard: Heard
) -> None:
    outcome = heard.run(make_job(RANKS, gpus=2, nodes=2, time_limit=300.0))
    assert outcome.status == "succeeded", outcome.message
    places = [tuple(line.split()[1:]) for line in heard.saying("step ")]
    assert [rank for rank, _, _ in places] == ["0", "1", "2", "3"]
    assert [node for _, node, _ in places] == [FIRST, FIRST, SECOND, SECOND]
    assert len({(node, device) for _, node, device in places}) == 4, places


def test_a_study_fills_the_cluster_and_waits_nowhere_but_in_ray(
    cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, as all documented commands leave it."""
    from flows.driver.limits import Limit, limit_of, side_by_side  # verl's environment has no flows

    params = expand(find_study(PROJECT, "tom-rl"))
    assert limit_of(params, "run", None) == Limit("gpu", 0, side_by_side(params, [GPUS]))
    monkeypatch.setenv(NODE_MINUTES, "15")  # then nodes come for cells that wait
    assert limit_of(params, "run", None) == Limit("gpu", 0, len(params.cells))


def test_the_time_of_a_job_stands_still_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    clock = Clock(100.0)
    clock.begin()
    for seconds, line in ((30, f"{WAITS}1 node"), (5000, f"{HOLDS}1 node"), (60, "step 1")):
        now[0] += seconds
        clock.hear(line)
    assert not clock.is_over() and clock.left == 10
    now[0] += 20
    assert clock.is_over()


def test_a_cluster_grows_with_what_its_jobs_need(
    growing: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (ends := tmp_path / "ends").touch()

    def reserving(nodes: int, gpus: int, minutes: str) -> Job:
        words = (str(nodes), str(gpus), str(ends))
        return make_job(
            RESERVE, *words, nodes=nodes, gpus=gpus, environment={NODE_MINUTES: minutes}
        )

    with monkeypatch.context() as patch:
        patch.delenv(NODE_MINUTES)
        with pytest.raises(UserError, match=r"have: 0 GPUs.* set TOMRL_NODE_MIN"):
            Heard().run(reserving(1, 1, "0"))
    with pytest.raises(UserError, match=r"1 node with 2 GPUs each did not come within 0\.01 min"):
        Heard().run(reserving(1, 2, "0.01"))
    assert growing.node_accelerators() == [0], "no node has two"

    heard = Heard()  # its command takes a part, as vLLM's and the local trainer's do
    assert heard.run(make_job(COUNT, gpus=0, own_gpus=0.5)).status == "succeeded"
    assert heard.saying("step") == ["step 1 nodes with [1]"]
    assert growing.node_accelerators() == [1, 0]

    heard = Heard()  # its ranks take all of two nodes, as verl's do
    assert heard.run(reserving(2, 1, "2")).status == "succeeded"
    assert any(line.startswith(f"{WAITS}2 nodes with 1 GPU each") for line in heard.lines)
    assert growing.node_accelerators() == [1, 1, 0]


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_time_that_is_none(text: str) -> None:
    with pytest.raises(UserError, match=rf"{NODE_MINUTES}='{text}' is not a time; allowed: a num"):
        node_minutes({NODE_MINUTES: text})
    assert node_minutes({}) == node_minutes({NODE_MINUTES: "0"}) == 0
    assert node_minutes({NODE_MINUTES: "1.5"}) == 1.5


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
            client = used(address, monkeypatch)
            client.submit(holder, "holder")
            assert until(lambda: client.get_job_status("holder") == "RUNNING")
            left = f"{holder.identity}-left"  # by a stage that was killed
            client.submit(holder, left)
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(heard.run, holder)
                assert until(lambda: again in heard.lines), heard.lines
                release.touch()
                assert waiting.result(60).status == "succeeded"
            assert heard.lines[0] == f"cluster: following job {left}"
