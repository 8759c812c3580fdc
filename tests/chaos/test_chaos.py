"""A sample of the kills and full disks, drawn with a fixed seed; all of them every night."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.chain


def faultless(project: Path, driver: str, *options: str) -> str:
    """Run a driver, which ends with 1 if there was a fault, and return its last line."""
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.chaos.{driver}", *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-5000:]
    figures = ran.stdout.splitlines()[-1]
    print(figures)
    return figures


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for the study that drivers share; the first makes it."""
    return str(tmp_path_factory.mktemp("chain"))


def test_some_kills_before_a_file_operation(project: Path, chain: str) -> None:
    said = faultless(project, "operations", "--sample", "2", "--chain", chain)
    assert said.endswith(": 0 with a fault")


def test_some_stages_on_a_full_disk(project: Path, chain: str) -> None:
    said = faultless(project, "full_disk", "--sample", "2", "--chain", chain)
    assert said.startswith("2 stages")


def test_some_transfers_over_a_network_that_fails(project: Path) -> None:
    said = faultless(project, "transfers", "--transfers", "1")
    assert said == "1 transfers: 0 corrupt, 0 failed"


@pytest.mark.nightly
def test_100_transfers_over_a_network_that_fails(project: Path) -> None:
    faultless(project, "transfers", "--transfers", "100")


@pytest.mark.nightly
def test_200_kills_at_random_moments(project: Path) -> None:
    faultless(project, "driver", "--kills", "200")


@pytest.mark.nightly
def test_some_faults_of_a_small_sweep_and_its_servers(project: Path) -> None:
    few = ("--models", "1", "--sets", "2", "--faults", "5", "--mean", "8")
    faultless(project, "sweep", *few)


@pytest.mark.nightly
def test_50_faults_of_a_sweep_and_its_servers(project: Path) -> None:
    faultless(project, "sweep", "--faults", "50")


@pytest.mark.nightly
def test_a_kill_before_every_file_operation(project: Path, chain: str) -> None:
    faultless(project, "operations", "--chain", chain)


@pytest.mark.nightly
def test_every_stage_on_a_full_disk(project: Path, chain: str) -> None:
    faultless(project, "full_disk", "--chain", chain)
