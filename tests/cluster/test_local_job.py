"""Cells of the local trainer as jobs on a cluster: on parts of accelerators, the same bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psutil

from pipeline.formats.files import folder_digests
from pipeline.ops.cluster.client import Address, connect
from tests.alive import until
from tests.conftest import edited, ended_well, environment, expand
from tests.raylets import named

SECONDS = 300  # on a busy machine every start takes long
CELL = "nano-hi"
STAGE = ("python", "-m", "pipeline.stages.train", CELL)
JOB = "pipeline.ops.cluster.local_job"


def prepared(reproduced: Path, checkout: Path) -> Path:
    """A copy of the reproduced study, whose cell is to be trained for longer."""
    shutil.copytree(reproduced, checkout, symlinks=True)
    with edited(checkout / "params.yaml") as content:  # a busy machine sees a job begin, not end
        content["cells"][CELL]["train"] = {"steps": 100, "validate_every": 20}
    expand(checkout)
    return checkout


def results(checkout: Path) -> dict[str, str]:
    return folder_digests(checkout / "runs" / "mini" / CELL / "train")


def is_job_of(process: psutil.Process, checkout: Path) -> bool:
    """Whether a process trains a cell of a checkout; others are those of other tests."""
    try:
        spec = Path(process.cwd()) / "job.json"
        return JOB in process.cmdline() and str(checkout) in spec.read_text()
    except (psutil.Error, OSError):
        return False


def test_a_job_that_was_killed_goes_on_and_so_does_its_stage(
    head: Address, reproduced: Path, tmp_path: Path
) -> None:
    """It takes a part of an accelerator, and leaves what the stage's own process would leave."""
    here = prepared(reproduced, tmp_path / "here")
    ended_well(here, *STAGE)
    checkout = prepared(reproduced, tmp_path / "a folder with spaces")
    output = checkout.parent / "output"

    def begin() -> subprocess.Popen[bytes]:
        with output.open("ab") as file:
            return subprocess.Popen(
                STAGE,
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
    assert results(checkout) == results(here)
    assert f"train {CELL}: cluster: submitted job mini-{CELL}-" in output.read_text()
    jobs = [each for each in connect(head).list_jobs() if JOB in each.entrypoint]
    assert sorted(job.driver_exit_code == 0 for job in jobs) == [False, True]
    assert not list((checkout / "work").rglob("attempts/*/*")), "its state is gone"
