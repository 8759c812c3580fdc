"""What the manifests of infra/ ask for is what their nodes, their network and their images have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.ops.cluster.job import NODE_DISK
from pipeline.ops.planning.cluster import ASSUMED
from pipeline.ops.planning.study import plan_study
from tests.conftest import PROJECT

INFRA = PROJECT / "infra"
Manifest = dict[str, Any]


def manifests(name: str) -> list[Manifest]:
    """The objects of a file."""
    return [each for each in yaml.safe_load_all((INFRA / name).read_text()) if each]


def named(kind: str, name: str) -> Manifest:
    """An object of all that are applied."""
    resources = manifests("kustomization.yaml")[0]["resources"]
    (found,) = (
        each
        for path in resources
        for each in manifests(path)
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return found


def cluster_of(name: str) -> Manifest:
    """The Ray cluster of a RayJob, or a RayCluster, by its file."""
    spec: Manifest = manifests(name)[0]["spec"]
    found: Manifest = spec.get("rayClusterSpec", spec)
    return found


@pytest.mark.parametrize("name", ["kuberay/study.yaml", "kuberay/raycluster.yaml"])
def test_pods_take_all_accelerators_of_the_machine_that_is_paid_for(name: str) -> None:
    variables = (INFRA / "opentofu" / "variables.tf").read_text()
    machine = re.search(r'"accelerator_type".*?default += "(\S+)"', variables, re.S)
    assert machine
    has = re.search(rf"{re.escape(machine[1])} has (\d+) x", variables)
    assert has, "the file says how many"
    (group,) = cluster_of(name)["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert int(container["resources"]["limits"]["nvidia.com/gpu"]) == int(has[1])
    flavors = named("ClusterQueue", "tomrl")["spec"]["resourceGroups"][0]["flavors"]
    quotas = {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for flavor in flavors
    }
    for pool in ("a100-80", "a100-80-spot"):
        assert quotas[pool]["nvidia.com/gpu"] % int(has[1]) == 0
        assert quotas[pool]["cpu"] >= int(container["resources"]["limits"]["cpu"])
        memory = (quotas[pool]["memory"], container["resources"]["limits"]["memory"])
        assert int(memory[0][:-2]) >= int(memory[1][:-2])


def test_the_nodes_of_a_study_go_when_it_ends_and_come_when_its_data_is_there(
    tmp_path: Path,
) -> None:
    spec = manifests("kuberay/study.yaml")[0]["spec"]
    assert spec["shutdownAfterJobFinishes"] and spec["ttlSecondsAfterFinished"] <= 600
    assert spec["backoffLimit"] == 0, "a cell's own attempts are its only ones"
    (container,) = spec["submitterPodTemplate"]["spec"]["containers"]
    study = container["command"][-1]
    hours = plan_study(expand(find_study(PROJECT, study)), ASSUMED, tmp_path).makespan
    assert hours <= spec["activeDeadlineSeconds"] / 3600 <= 4 * hours
    (data,) = named("Job", "tomrl-data")["spec"]["template"]["spec"]["containers"]
    assert f"tomrl study use {study} " in data["command"][-1]
    assert not any("nvidia" in resource for resource in data["resources"]["limits"])
    page = (PROJECT / "docs" / "from-laptop-to-cluster.md").read_text()
    steps = re.findall(r"^kubectl .*step=(\w+)", page, re.M)
    assert steps.index("data") < steps.index("study") and "cluster" not in steps


def test_the_disk_that_checkpoints_go_over_is_one_of_each_node() -> None:
    (container,) = manifests("kuberay/study.yaml")[0]["spec"]["submitterPodTemplate"]["spec"][
        "containers"
    ]
    named_disk = {each["name"]: each["value"] for each in container["env"]}[NODE_DISK]
    for group in cluster_of("kuberay/study.yaml")["workerGroupSpecs"]:
        pod = group["template"]["spec"]
        (mount,) = [
            each["name"]
            for each in pod["containers"][0]["volumeMounts"]
            if each["mountPath"] == named_disk
        ]
        (volume,) = [each for each in pod["volumes"] if each["name"] == mount]
        assert "medium" not in volume["emptyDir"], "a disk, no memory"


def test_a_study_takes_nothing_from_servers_that_nothing_makes() -> None:
    """What its pod cannot start without is made before it, by a manifest or by secrets.sh."""
    settings = named("ConfigMap", "tomrl")
    for name in ("kuberay/study.yaml", "kuberay/proof.yaml"):
        (container,) = manifests(name)[0]["spec"]["submitterPodTemplate"]["spec"]["containers"]
        sources = {kind: each for entry in container["envFrom"] for kind, each in entry.items()}
        assert sources["configMapRef"] == {"name": settings["metadata"]["name"], "optional": True}
    assert settings["metadata"]["labels"] == {"tomrl/step": "worker"}, "with the servers' worker"


def allowed(part: str) -> Iterator[tuple[str, int]]:
    """To which parts of the namespace, and at which ports, pods of a part may speak."""
    for policy in manifests("kubernetes/network.yaml"):
        spec = policy["spec"]
        if spec["podSelector"].get("matchLabels", {}).get("tomrl/part") != part:
            continue
        for rule in spec.get("egress", ()):
            for peer in rule.get("to", ()):
                to = peer.get("podSelector", {}).get("matchLabels", {}).get("tomrl/part")
                yield from ((to, each["port"]) for each in rule.get("ports", ()) if to)


def test_pods_reach_the_addresses_that_they_are_given() -> None:
    addresses = named("ConfigMap", "tomrl")["data"]
    assert set(addresses) == {"RAY_ADDRESS", "MLFLOW_TRACKING_URI", "PREFECT_API_URL"}
    for name, address in addresses.items():
        to = "ray" if name == "RAY_ADDRESS" else "server"
        assert (to, urlsplit(address).port) in set(allowed("study")), name
    assert ("server", urlsplit(addresses["PREFECT_API_URL"]).port) in set(allowed("worker"))
    for name in ("kuberay/study.yaml", "kuberay/raycluster.yaml", "kuberay/proof.yaml"):
        cluster = cluster_of(name)
        for pods in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
            assert pods["template"]["metadata"]["labels"]["tomrl/part"] == "ray"


def test_a_rented_machine_brings_its_own_python() -> None:
    task = manifests("skypilot/node.yaml")[0]
    solved = re.findall(r"--python-version (\S+)", (PROJECT / "scripts" / "lock.sh").read_text())
    assert {task["envs"]["PYTHON"]} == set(solved), "by which the trainer's packages are solved"
    setup = task["setup"]
    assert setup.index('python install "$PYTHON"') < setup.index("make setup")
    assert re.search(r'make setup setup-trainer PYTHON="\$\(.*uv" python find', setup)
