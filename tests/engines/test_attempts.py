"""A job that Ray reports as failed lives on: another waits for its lock, then it writes no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.formats.files import read_json, read_lines
from pipeline.formats.weights import WeightsFolder
from pipeline.ops.cluster.client import Address, connect
from pipeline.ops.cluster.head import private_head
from tests.alive import until
from tests.engines.conftest import GRPO, STEPS, Start, is_alive, saved_steps
from tests.raylets import named, without_ray

pytestmark = pytest.mark.nightly
STAGE = ("python", "-m", "pipeline.stages.train", GRPO)
JOB = "-m pipeline.ops.verl.job"


@pytest.fixture
def head(engine: Path) -> Iterator[Address]:
    """A head that outlives the jobs on it."""
    with private_head(engine, without_ray(), gpus=2, cpus=22) as address:
        yield address


@pytest.fixture
def hasty(checkout: Path) -> Path:
    """A checkout in which it is soon said what an attempt waits for."""
    path, long = checkout / "pipeline" / "ops" / "cluster" / "attempts.py", "SAY_SECONDS = 60.0"
    content = path.read_text()
    assert f"\n{long}\n" in content
    path.write_text(content.replace(long, "SAY_SECONDS = 2.0"))
    return checkout


def _processes(has: Callable[[str], bool]) -> list[psutil.Process]:
    """The processes of the head and its jobs whose command line is such."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if has(" ".join(process.cmdline())):
                found.append(process)
        except psutil.Error:
            continue
    return found


def _is_job(line: str) -> bool:
    return JOB in line and line.split()[0].endswith("python")


def test_a_living_job_that_is_reported_failed_is_overtaken(
    head: Address, hasty: Path, start: Start
) -> None:
    stage = start(hasty, *STAGE, **named(head))
    stage.wait_until(lambda: 2 in saved_steps(hasty))
    (old,) = _processes(_is_job)
    old.suspend()
    for verl in old.children(recursive=True):
        verl.kill()  # two at once are too much for a laptop
    for watcher in _processes(lambda line: "while kill -s 0" in line):
        watcher.kill()  # it would end the job with its supervisor
    for supervisor in _processes(lambda line: "JobSupervisor" in line):
        supervisor.kill()

    stage.wait_until(lambda: "waits for the previous attempt: " in stage.output)
    assert "cluster: attempt 1 failed: lost node (Job supervisor actor died" in stage.output
    assert f"is in use by process {old.pid} on " in stage.output
    (state,) = (hasty / "work").glob("*/attempts")
    state.with_name("attempts.lock").unlink()  # as a file server does for a node that is away
    stage.wait_until(lambda: "goes on after step" in stage.output)
    old.resume()
    assert until(lambda: not is_alive(old)), "it ends itself"
    client, said = connect(head), "ends and writes nothing more: its place was taken by"

    def is_said() -> bool:
        logs = (client.get_job_logs(job.submission_id) for job in client.list_jobs())
        return any(said in log for log in logs)

    assert until(is_said)
    assert "000002" in {path.name[:6] for path in state.iterdir()}

    assert stage.wait() == 0, stage.output
    rows = read_lines(hasty / "runs/mini" / GRPO / "train/metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(STEPS + 1))
    stored = read_json(hasty / "runs/mini" / GRPO / "train/checkpoints.json")["checkpoints"]
    weights = WeightsFolder(hasty / "weights/mini" / GRPO, f"train@{GRPO}")
    assert all(weights.get(each["digest"]) for each in stored.values())
