"""Cells of the local trainer as jobs on a cluster: on parts of accelerators, the same bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from pipeline.config.params_file import read_params
from pipeline.formats.files import folder_digests
from pipeline.ops.cluster.client import Address, connect
from tests.alive import until
from tests.conftest import copy_checkout, environment, shrink, type_command

SECONDS = 300  # on a busy machine every start takes long
JOB = "pipeline.ops.cluster.local_job"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with data and base model; tests copy it."""
    checkout = copy_checkout(tmp_path_factory.mktemp("local") / "checkout")
    shrink(checkout, steps=100, validate_every=20)  # a job that a busy machine sees begin, not end
    for command in (
        ("tomrl", "study", "use", "mini"),
        ("dvc", "repro", "base@nano", "dataset@hi"),
    ):
        done = type_command(checkout, checkout.parent, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return checkout


@pytest.fixture(scope="module")
def key(study: Path) -> str:
    cells = read_params(study / "params.yaml").cells
    return next(name for name, cell in cells.items() if cell.kind == "trained")


@pytest.fixture(scope="module")
def expected(study: Path, key: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the cell leaves when it is trained in the stage's own process."""
    checkout = tmp_path_factory.mktemp("here") / "checkout"
    shutil.copytree(study, checkout, symlinks=True)
    done = type_command(checkout, checkout.parent, "python", "-m", "pipeline.stages.train", key)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder_digests(results(checkout, key))


@pytest.fixture
def checkout(study: Path, tmp_path: Path) -> Path:
    target = tmp_path / "a folder with spaces"
    shutil.copytree(study, target, symlinks=True)
    return target


def results(checkout: Path, key: str) -> Path:
    return checkout / "runs" / "mini" / key / "train"


def named(head: Address) -> dict[str, str]:
    """What a user of the cluster has in the environment."""
    assert head.token is not None
    return {"RAY_ADDRESS": head.url, "RAY_AUTH_TOKEN": head.token}


def is_job_of(process: psutil.Process, checkout: Path) -> bool:
    """Whether a process trains a cell of a checkout; others are those of other tests."""
    try:
        spec = Path(process.cwd()) / "job.json"
        return JOB in process.cmdline() and str(checkout) in spec.read_text()
    except (psutil.Error, OSError):
        return False


def test_a_local_cell_runs_on_a_part_of_an_accelerator(
    head: Address, checkout: Path, key: str, expected: dict[str, str]
) -> None:
    stage = ("python", "-m", "pipeline.stages.train", key)
    done = type_command(checkout, checkout.parent, *stage, **named(head))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"train {key}: cluster: submitted job mini-{key}-" in done.stdout
    assert folder_digests(results(checkout, key)) == expected
    client = connect(head)
    (job,) = [each for each in client.list_jobs() if JOB in each.entrypoint]
    assert job.driver_exit_code == 0
    assert not list((checkout / "work").rglob("attempts/*/*")), "its state is gone"


def test_a_job_that_was_killed_goes_on_and_so_does_its_stage(
    head: Address, checkout: Path, key: str, expected: dict[str, str]
) -> None:
    output = checkout.parent / "output"

    def begin() -> subprocess.Popen[bytes]:
        with output.open("ab") as file:
            return subprocess.Popen(
                ("python", "-m", "pipeline.stages.train", key),
                cwd=checkout,
                env={**environment(checkout.parent), **named(head)},
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def said(text: str) -> bool:
        logs = list((checkout / "work").glob("*/job.log"))
        return any(text in log.read_text() for log in logs)

    stage = begin()
    assert until(lambda: said("TOMRL_SAVED 5"), SECONDS), output.read_text()
    (job,) = [process for process in psutil.process_iter() if is_job_of(process, checkout)]
    job.kill()
    assert until(lambda: said("cluster: attempt 1 failed"), SECONDS), output.read_text()
    stage.kill()
    stage.wait()
    again = begin()
    assert again.wait(SECONDS) == 0, output.read_text()
    assert folder_digests(results(checkout, key)) == expected
