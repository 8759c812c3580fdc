"""The proof of new nodes, and a study, as their submitters run them, on a real head."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.ops.cluster.client import Address, Client
from tests.alive import until
from tests.conftest import PROJECT

JOB = "tomrl-proof-abcde"
RAN = ["doctor --gpu", "run smoke-gpu"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the proof alone, and a ``tomrl`` that notes what it is asked for."""
    (folder := tmp_path / "checkout" / "infra" / "kuberay").mkdir(parents=True)
    shutil.copy(PROJECT / "infra" / "kuberay" / "job.sh", folder)
    (benchmarks := tmp_path / "checkout" / "benchmarks").mkdir()
    (benchmarks / "__init__.py").touch()
    (benchmarks / "gpu.py").write_text("import sys; print('figures', sys.argv[1:])\n")
    (program := tmp_path / "bin" / "tomrl").parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho "$@" >>"$RAN"\nenv >"$RAN.environment"\n'
        'ray job status "$JOB" >>"$SEEN"\n[ -z "$BAD" ]\n'
    )
    program.chmod(0o755)
    return tmp_path / "checkout"


def prove(
    checkout: Path, head: Address, bad: str = "", name: str = "proof"
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the submitter's own command as KubeRay does; return it, and how the job was meanwhile."""
    job = yaml.safe_load((PROJECT / "infra" / "kuberay" / f"{name}.yaml").read_text())["spec"]
    (container,) = job["submitterPodTemplate"]["spec"]["containers"]
    assert job["submissionMode"] == "K8sJobMode" and container["workingDir"] == "/checkout"
    bin_folders = [checkout.parent / "bin", Path(sys.executable).parent, os.environ["PATH"]]
    seen = checkout.parent / "seen"
    done = subprocess.run(
        container["command"],
        cwd=checkout,
        env={
            "PATH": os.pathsep.join(map(str, bin_folders)),
            "HOME": str(checkout.parent),
            "RAY_AUTH_TOKEN": str(head.token),
            "RAY_DASHBOARD_ADDRESS": head.url.removeprefix("http://"),
            "RAY_JOB_SUBMISSION_ID": f"{JOB}{bad}",
            "RAN": str(checkout.parent / "ran"),
            "SEEN": str(seen),
            "JOB": f"{JOB}{bad}",
            "BAD": bad,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done, seen.read_text()


def ended(cluster: Client, job: str) -> str:
    """How the job that KubeRay looks for has ended."""
    assert until(lambda: cluster.get_job_status(job).is_terminal())
    return str(cluster.get_job_status(job))


def test_the_study_goes_through_while_the_job_that_is_looked_for_waits(
    checkout: Path, head: Address, cluster: Client
) -> None:
    done, seen = prove(checkout, head)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (checkout.parent / "ran").read_text().splitlines() == RAN
    assert "figures ['--json', 'logs/gpu.json']" in done.stdout
    assert seen.count("RUNNING") + seen.count("PENDING") == len(RAN) and "SUCCEEDED" not in seen
    assert ended(cluster, JOB) == "SUCCEEDED"


def test_a_study_runs_on_its_own_cluster_and_gives_it_back(
    checkout: Path, head: Address, cluster: Client
) -> None:
    """Also one that is refused, with exactly the environment that its manifest gives it."""
    done, _ = prove(checkout, head, bad="-study", name="study")
    assert done.returncode == 0, "it is not begun again"
    assert (checkout.parent / "ran").read_text().splitlines() == ["run tom-rl"]
    environment = (checkout.parent / "ran.environment").read_text().splitlines()
    assert f"RAY_ADDRESS={head.url}" in environment
    assert not [line for line in environment if line.startswith(("PREFECT_", "MLFLOW_"))]
    assert ended(cluster, f"{JOB}-study") == "FAILED"


@pytest.mark.nightly
def test_what_is_missing_ends_the_proof_and_the_job(
    checkout: Path, head: Address, cluster: Client
) -> None:
    done, _ = prove(checkout, head, bad="-bad")
    assert done.returncode == 0, "it is not begun again"
    assert (checkout.parent / "ran").read_text().splitlines() == RAN[:1]
    assert ended(cluster, f"{JOB}-bad") == "FAILED"
