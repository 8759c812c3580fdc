"""A Ray head that the tests of this folder share, and jobs to run on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pipeline.ops.cluster.client import Address, Client
from pipeline.ops.cluster.head import private_head
from pipeline.ops.cluster.job import Job, JobOutcome
from pipeline.ops.cluster.run import run_job
from tests.conftest import PROJECT
from tests.gpus import path_with_gpus
from tests.raylets import used, without_ray

GPUS, CPUS = 2, 22
HOLD = """
    import pathlib, sys, time
    print("step 1", flush=True)
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.1)
    """
"""A program that goes on until there is a file of the name that it is given."""

MakeJob = Callable[..., Job]


@pytest.fixture(scope="package")
def head() -> Iterator[Address]:
    """A head with two accelerators by name only."""
    kept = without_ray() | {"PYTHONPATH": str(PROJECT)}  # of the jobs
    with private_head(Path(sys.executable), kept, GPUS, CPUS) as address:
        yield address


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A machine that names no cluster, and has accelerators by name only."""
    for name in [name for name in os.environ if name.startswith(("RAY_", "TOMRL_", "CUDA_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", path_with_gpus(tmp_path_factory.mktemp("bin"), 4))


@pytest.fixture
def cluster(head: Address, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The shared head, named by the environment as a user names a cluster."""
    return used(head, monkeypatch)


@pytest.fixture
def make_job(tmp_path: Path) -> MakeJob:
    """Make a job from the text of a Python program."""

    def make(program: str, *arguments: str, **changes: Any) -> Job:
        folder = tmp_path / "job"
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(dedent(program))
        settings: dict[str, Any] = {
            "name": tmp_path.name,
            "gpus": 1,
            "time_limit": 120.0,
            "stall_limit": 60.0,
            "progress": "step",
        }
        command = ("python", "program.py", *arguments)
        return Job(arguments=command, folder=folder, **{**settings, **changes})

    return make


class Heard:
    """Runs a job and remembers what it said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, job: Job) -> JobOutcome:
        return run_job(job, self.lines.append)

    def saying(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]


@pytest.fixture
def heard() -> Heard:
    """Something that runs a job and remembers what it said."""
    return Heard()
