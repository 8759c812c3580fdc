"""What the pages and scripts of infra/ tell a user to start has room where they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipeline.config.expand import expand
from pipeline.config.params import Params, TrainedCell
from pipeline.config.study_files import find_study
from pipeline.ops.planning.cluster import ASSUMED
from pipeline.ops.planning.study import plan_study
from pipeline.ops.verl.phases import Placement
from pipeline.ops.verl.placement import place
from pipeline.train.accelerators import GIB
from pipeline.train.shapes import shape_of
from tests.conftest import PROJECT

_COMMAND = re.compile(r"STUDY=(\S+) (?:sbatch )?(?:--nodes=(\d+) )?(infra/slurm/\w+\.sbatch)")
_STUDIES = ("tom-rl", "rlvr", "next-scale")
PROVING = ("kuberay/job.sh", "skypilot/node.yaml")
_LARGEST_MODEL = 2  # bytes of a weight, as it is stored


def commands() -> list[tuple[str, int, str]]:
    """Every study that a page or script starts on Slurm: its name, its nodes, its script."""
    pages = [*(PROJECT / "docs").glob("*.md"), *(PROJECT / "infra").rglob("*.sbatch")]
    found = {match for page in pages for match in _COMMAND.findall(page.read_text())}
    return sorted((study, int(nodes or 1), script) for study, nodes, script in found)


def placed(params: Params) -> Iterator[Placement]:
    for cell in params.cells.values():
        if isinstance(cell, TrainedCell) and cell.train.backend == "verl":
            model = params.base[cell.model].model
            recipe = cell.train
            yield place(shape_of(model), recipe, cell.algorithm, recipe.cluster)


@pytest.mark.parametrize(("study", "nodes", "script"), commands())
def test_a_documented_command_has_the_accelerators_of_its_study(
    study: str, nodes: int, script: str
) -> None:
    said = re.search(r"#SBATCH --gpus-per-node=(\d+)", (PROJECT / script).read_text())
    assert said
    for placement in placed(expand(find_study(PROJECT, study))):
        assert (placement.nodes, placement.gpus) <= (nodes, int(said[1])), placement.describe()
        assert placement.gpus <= int(said[1]), placement.describe()


def test_slurm_writes_its_log_where_every_clone_has_a_folder() -> None:
    scripts = list((PROJECT / "infra" / "slurm").glob("*.sbatch"))
    logs = [re.search(r"#SBATCH --output=(\S+)", each.read_text()) for each in scripts]
    assert logs and all(log and Path(log[1]).parent == Path() for log in logs)


def routes() -> Iterator[tuple[str, str]]:
    """The places that have accelerators, and what is typed there, in its order."""
    page = (PROJECT / "docs" / "from-laptop-to-cluster.md").read_text()
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## )", page, re.M | re.S))
    for name in ("One GPU", "KubeRay", "Slurm", "SkyPilot"):
        yield name, "\n".join(re.findall(r"^```\n(.*?)^```", sections[name], re.M | re.S))


@pytest.mark.parametrize(("route", "typed"), routes())
def test_every_route_begins_with_the_doctor_and_the_smoke_study(route: str, typed: str) -> None:
    kuberay, skypilot = ((PROJECT / "infra" / path).read_text() for path in PROVING)
    assert 0 < kuberay.index("doctor --gpu") < kuberay.index("tomrl run smoke-gpu")
    assert "doctor --gpu" in skypilot
    proves = {"KubeRay": "step=proof", "SkyPilot": "sky launch"}.get(route, "tomrl doctor --gpu")
    smoke = {"KubeRay": "step=proof"}.get(route, "STUDY=smoke-gpu")
    study = {"KubeRay": "step=study"}.get(route, "STUDY=tom-rl")
    assert typed.index(proves) <= typed.index(smoke) < typed.index(study)


def test_there_are_such_commands() -> None:
    assert {("next-scale", 4, "infra/slurm/cluster.sbatch")} <= set(commands())


@pytest.mark.parametrize("study", _STUDIES)
def test_the_cluster_of_kuberay_holds_a_study(study: str) -> None:
    """Its head, which merges checkpoints, and as many of its nodes as it may have."""
    spec = yaml.safe_load((PROJECT / "infra/kuberay/raycluster.yaml").read_text())["spec"]
    head = spec["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    (group,) = spec["workerGroupSpecs"]
    node = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    params = expand(find_study(PROJECT, study))
    for placement in placed(params):
        assert placement.gpus <= int(node["nvidia.com/gpu"])
        assert placement.nodes <= group["maxReplicas"]
        assert sum(placement.host.values()) <= int(node["memory"].removesuffix("Gi")) * GIB
    models = {cell.model for cell in params.cells.values() if isinstance(cell, TrainedCell)}
    largest = max(shape_of(params.base[name].model).parameters for name in models)
    assert 1.25 * _LARGEST_MODEL * largest <= int(head["memory"].removesuffix("Gi")) * GIB


def test_the_rented_disk_holds_the_studies_of_one_node() -> None:
    task = yaml.safe_load((PROJECT / "infra/skypilot/node.yaml").read_text())
    for study in ("tom-rl", "rlvr"):
        plan = plan_study(expand(find_study(PROJECT, study)), ASSUMED, PROJECT)
        assert task["resources"]["disk_size"] >= plan.disk_gb + 30, "with the environments"


@pytest.mark.parametrize("told", [True, False])
def test_dvc_on_a_read_only_root(told: bool, tmp_path: Path) -> None:
    """As in the pods of infra/kubernetes; without the image's variable it cannot even begin."""
    if subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount in a namespace of their own")
    variable = re.search(
        r"DVC_SITE_CACHE_DIR=(\S+)", (PROJECT / "docker/orchestrator/Dockerfile").read_text()
    )
    assert variable
    dvc = f"{sys.executable} -m dvc"
    setup = f"cd {tmp_path} && {dvc} init --no-scm"
    readonly = "mount -t tmpfs -o ro none /var/tmp"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-ec", f"{readonly}; {setup}; {dvc} status"],
        env={**os.environ, **({"DVC_SITE_CACHE_DIR": str(tmp_path / "site")} if told else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is told, done.stderr
    assert told or "/var/tmp/dvc" in done.stdout + done.stderr
