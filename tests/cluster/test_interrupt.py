"""Signals and the private head: whatever ends this process, nothing of the job stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from pipeline.base.errors import TransientError, UserError
from pipeline.ops.cluster import client, follow
from pipeline.ops.cluster.client import Address, Client
from pipeline.ops.cluster.gpus import leased
from pipeline.ops.cluster.head import LONGEST_FOLDER
from pipeline.ops.cluster.job import Job
from pipeline.ops.cluster.keeper import lock_folder, remove_abandoned
from pipeline.ops.cluster.run import run_job
from tests.alive import until
from tests.cluster.conftest import Heard, MakeJob
from tests.cluster.proxy import proxy

PATIENCE = 60.0
SLEEP = """
    import os, time
    print("folder", os.getcwd(), flush=True)
    time.sleep(600)
    """
CALLER = """
import sys
from pathlib import Path
from pipeline.base.processes import raise_on_sigterm
from pipeline.ops.cluster.job import Job
from pipeline.ops.cluster.run import run_job

raise_on_sigterm()
name, folder = sys.argv[1:]
job = Job(
    name=name, arguments=("python", "program.py"), folder=Path(folder), gpus=1,
    time_limit=600, stall_limit=600,
)
run_job(job, on_line=lambda line: print(line, flush=True))
"""


@contextmanager
def _caller(job: Job, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a job in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", CALLER, job.name, str(job.folder)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _job_folder(process: subprocess.Popen[str]) -> Path:
    """Wait until the job runs; return the folder in which it runs."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("folder "):
            return Path(line.split()[1])
    raise AssertionError("the job did not run")


def _processes_of(folder: Path) -> list[str]:
    """The processes that mention a folder or stand in it."""
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            texts = [*command, process.cwd(), *process.environ().values()]
        except psutil.Error:
            continue
        if any(str(folder) in text for text in texts):
            found.append(f"{process.pid} {' '.join(command)[:80]}")
    return found


def _head_folder(inner: Path) -> Path:
    return next(folder for folder in inner.parents if folder.name.startswith("tomrl-"))


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_a_signal_stops_the_job_on_the_cluster(
    cluster: Client, make_job: MakeJob, number: signal.Signals
) -> None:
    job = make_job(SLEEP, name=f"stopped-by-{number.name}")
    with _caller(job) as process:
        _job_folder(process)
        process.send_signal(number)
        process.wait(PATIENCE)
    statuses = {each.submission_id: each.status.value for each in cluster.list_jobs()}
    assert [statuses[own] for own in statuses if own.startswith(job.identity)] == ["STOPPED"]
    # Python's own exit status after a KeyboardInterrupt that nobody catches.
    assert process.returncode in (1, -signal.SIGINT)


def test_a_second_signal_does_not_wait(cluster: Client, head: Address, make_job: MakeJob) -> None:
    job = make_job(SLEEP, name="impatient")
    with proxy(head.url) as between, _caller(job, RAY_ADDRESS=between.url) as process:
        _job_folder(process)
        between.silence()
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    cluster.stop_job(cluster.running(job.identity))


def test_a_private_head_goes_with_a_killed_process(make_job: MakeJob) -> None:
    with _caller(make_job(SLEEP), TOMRL_ENGINE_PYTHON=sys.executable) as process:
        folder = _head_folder(_job_folder(process))
        assert _processes_of(folder)
        process.kill()
    assert until(lambda: not _processes_of(folder)), _processes_of(folder)
    assert until(lambda: not folder.exists())


def test_a_private_head_that_dies_is_not_waited_for(
    make_job: MakeJob, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOMRL_ENGINE_PYTHON", sys.executable)
    monkeypatch.setattr(follow, "LOST_SECONDS", 10**6)
    monkeypatch.setattr(client, "LOST_SECONDS", 10**6)
    folders: list[Path] = []

    def kill_its_head(line: str) -> None:
        heard.lines.append(line)
        if line.startswith("folder "):
            folders.append(_head_folder(Path(line.split()[1])))
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess):  # others come and go
                    own = str(folders[-1]) in " ".join(process.cmdline())
                    if own and process.name() == "raylet":
                        process.kill()

    with pytest.raises(TransientError, match="private Ray head of this machine has ended before"):
        run_job(make_job(SLEEP, retries=1), on_line=kill_its_head)
    assert len(set(folders)) == 1
    assert until(lambda: not any(folder.exists() for folder in folders))


def test_a_private_head_is_taken_down_after_the_job(
    make_job: MakeJob, heard: Heard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOMRL_ENGINE_PYTHON", sys.executable)
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("long" * LONGEST_FOLDER)))
    Path(os.environ["TMPDIR"]).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    job = make_job(
        """
        import os, subprocess, sys, ray
        print("folder", os.getcwd())
        print("step", sys.executable)
        print("step", os.environ["CUDA_VISIBLE_DEVICES"])
        # A daemon that leaves its session and its parent.
        subprocess.Popen(["sh", "-c", "setsid sleep 600 & "])
        ray.init()
        print("step", ray.cluster_resources()["GPU"], ray.util.get_node_ip_address())
        """,
        gpus=3,
    )
    with leased(1, 1, os.environ, print):  # as another job of this machine does
        outcome = heard.run(job)
    assert outcome.status == "succeeded", outcome.message
    executable, shown, resources = heard.saying("step")
    assert Path(executable.removeprefix("step ")).parent == Path(sys.executable).parent
    assert (shown, resources) == ("step 1,2,3", "step 3.0 127.0.0.2")
    folder = _head_folder(Path(heard.saying("folder")[0].split()[1]))
    assert (_processes_of(folder), folder.exists()) == ([], False)


def test_folders_of_killed_keepers_are_removed(tmp_path: Path) -> None:
    for name in ("tomrl-alive", "tomrl-abandoned", "tomrl-new", "another"):
        (tmp_path / name).mkdir()
    lock = lock_folder(tmp_path / "tomrl-alive")
    for name in ("tomrl-abandoned", "another"):
        os.close(lock_folder(tmp_path / name))
    remove_abandoned(tmp_path)
    os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "another",
        "tomrl-alive",
        "tomrl-new",
    ]


def test_an_engine_environment_that_is_not_there(
    make_job: MakeJob, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOMRL_ENGINE_PYTHON", "/nowhere/python")
    with pytest.raises(UserError, match=r"^TOMRL_ENGINE_PYTHON=/nowhere/python: no such") as error:
        heard.run(make_job(""))
    assert "make test-engines" in str(error.value)
