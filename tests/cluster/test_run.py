"""Jobs on a real Ray head: their lines, their ends, their limits, and their retries."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pipeline.base.errors import TransientError, UserError
from pipeline.ops.cluster import follow
from pipeline.ops.cluster.client import Address, Client
from pipeline.ops.cluster.job import Job
from pipeline.ops.cluster.run import run_job
from tests.alive import until
from tests.cluster.conftest import GPUS, HOLD, Heard, MakeJob
from tests.cluster.proxy import proxy

HANG = """
    import os, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("process", os.getpid(), flush=True)
    print("step 1", flush=True)
    time.sleep(600)
    """
SLEEP = """
    import time
    print("step 1", flush=True)
    time.sleep(600)
    """


def _submissions(cluster: Client, job: Job) -> list[str]:
    """The statuses of all submissions of a job."""
    return [
        each.status.value
        for each in cluster.list_jobs()
        if (each.submission_id or "").startswith(job.identity)
    ]


def test_a_job_runs_in_its_folder_with_its_variables(
    cluster: Client, make_job: MakeJob, heard: Heard
) -> None:
    job = make_job(
        """
        import os, pathlib, sys
        print("step", *sys.argv[1:])
        print("step", pathlib.Path("note.txt").read_text())
        print("step", len(os.environ["SECRET"]), sys.executable)
        print("step unfinished", end="")
        """,
        "an argument",
        "$HOME; `id`",
        environment={"SECRET": "hunter2"},
    )
    (job.folder / "note.txt").write_text("uploaded")
    outcome = heard.run(job)
    assert (outcome.status, outcome.attempts, outcome.message) == ("succeeded", 1, "")
    assert heard.saying("step")[:2] == ["step an argument $HOME; `id`", "step uploaded"]
    assert heard.saying("step 7 ")[0].endswith("python")
    assert heard.lines[-1] == "step unfinished"
    said = "\n".join(heard.lines)
    assert "hunter2" not in said and os.environ["RAY_AUTH_TOKEN"] not in said


def test_a_dropped_log_stream_is_no_failure(
    cluster: Client, head: Address, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(
        """
        import time
        for number in range(40):
            print("step", number, flush=True)
            time.sleep(0.2)
        """
    )
    lines: list[str] = []
    cuts: list[int] = []
    with proxy(head.url) as between:
        monkeypatch.setenv("RAY_ADDRESS", between.url)

        def on_line(line: str) -> None:
            lines.append(line)
            if line in ("step 3", "step 15"):
                cuts.append(between.cut())

        outcome = run_job(job, on_line=on_line)
    assert outcome.status == "succeeded"
    assert all(cuts) and len(cuts) == 2
    assert [line for line in lines if line.startswith("step")] == [f"step {n}" for n in range(40)]
    assert outcome.attempts == 1


def test_a_cluster_that_comes_back_still_has_the_job(
    cluster: Client,
    head: Address,
    make_job: MakeJob,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = make_job("import time; print('step 1'); time.sleep(8); print('step 2')", retries=1)
    monkeypatch.setattr("pipeline.ops.cluster.follow.LOST_SECONDS", 1.0)
    with proxy(head.url) as between:
        monkeypatch.setenv("RAY_ADDRESS", between.url)

        def on_line(line: str) -> None:
            if line == "step 1" and line not in heard.lines:
                between.refuse()
            heard.lines.append(line)
            if line.startswith("cluster: attempt 1 lost: no answer for"):
                between.accept()

        outcome = run_job(job, on_line=on_line)
    assert (outcome.status, outcome.attempts) == ("succeeded", 2)
    assert heard.saying("step") == ["step 1", "step 1", "step 2"]
    assert len(heard.saying("cluster: following job")) == 1
    assert _submissions(cluster, job) == ["SUCCEEDED"]


def test_a_cluster_that_stays_away_is_named(
    cluster: Client, head: Address, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(SLEEP, retries=1)
    for name in ("follow.LOST_SECONDS", "client.LOST_SECONDS", "follow.STOP_SECONDS"):
        monkeypatch.setattr(f"pipeline.ops.cluster.{name}", 1.0)
    with proxy(head.url) as between, pytest.raises(TransientError) as lost:
        monkeypatch.setenv("RAY_ADDRESS", between.url)
        run_job(
            job,
            on_line=lambda line: between.refuse() if line == "step 1" else None,
        )
    assert f"RAY_ADDRESS={between.url}: the cluster has not answered for 1 s" in str(lost.value)
    cluster.stop_job(cluster.running(job.identity))


def test_a_user_error_is_not_retried(cluster: Client, make_job: MakeJob, heard: Heard) -> None:
    job = make_job("print('TOMRL_ERROR lower the batch'); raise SystemExit(3)", retries=2)
    with pytest.raises(UserError, match=r"^lower the batch$"):
        heard.run(job)
    assert _submissions(cluster, job) == ["FAILED"]


def test_the_last_failure_is_reported_with_its_lines(
    cluster: Client, make_job: MakeJob, heard: Heard
) -> None:
    outcome = heard.run(make_job("print('step 1'); raise RuntimeError('disk full')", retries=1))
    assert (outcome.status, outcome.attempts) == ("failed", 2)
    assert outcome.message.startswith("exit status 1; its last lines:\n")
    assert outcome.message.endswith("RuntimeError: disk full")


def test_a_hung_job_is_ended_and_retried(cluster: Client, make_job: MakeJob, heard: Heard) -> None:
    outcome = heard.run(make_job(HANG, stall_limit=5.0, retries=1))
    assert (outcome.status, outcome.attempts) == ("stalled", 2)
    assert outcome.message.startswith("stopped after 5 s without progress; its last lines:\n")
    assert outcome.message.endswith("step 1")
    (note,) = heard.saying("cluster: attempt")
    assert note.startswith("cluster: attempt 1 stalled: stopped after 5 s without progress; ")
    processes = [int(line.split()[1]) for line in heard.saying("process")]
    assert len(processes) == 2
    assert until(lambda: not any(psutil.pid_exists(number) for number in processes))


OWN, OTHER = "127.0.0.9", "127.0.0.10"


@pytest.mark.parametrize(("dead", "seconds"), [(OWN, "3"), (OTHER, "9")])
def test_a_job_that_waits_for_a_lost_node_is_ended_soon(
    dead: str,
    seconds: str,
    cluster: Client,
    make_job: MakeJob,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only if it is one of its own: a cluster tells of all nodes."""
    monkeypatch.setattr(follow, "NODE_SECONDS", 3.0)
    program = f"""
        import time
        print("step 1", flush=True)
        print("\x1b[36m(Rank pid=1, ip={OWN})\x1b[0m ready", flush=True)
        print(
            "\x1b[33m(raylet)\x1b[0m The node with node id: 6d and address: {dead} and node name: "
            "{dead} has been marked dead because the detector has missed too many heartbeats",
            flush=True,
        )
        time.sleep(100)
    """
    outcome = heard.run(make_job(program, stall_limit=9.0))
    assert outcome.status == "stalled"
    assert outcome.message.startswith(f"stopped after {seconds} s without progress"), outcome
    assert ("since it lost a node" in outcome.message) == (dead == OWN)


def test_the_time_limit_ends_a_job_that_makes_progress(
    cluster: Client, make_job: MakeJob, heard: Heard
) -> None:
    job = make_job(
        """
        import itertools, time
        for number in itertools.count():
            print("step", number, flush=True)
            time.sleep(0.5)
        """,
        time_limit=15.0,
        retries=3,
    )
    outcome = heard.run(job)
    assert (outcome.status, outcome.attempts) == ("timed_out", 1)
    assert heard.saying("step")
    assert _submissions(cluster, job) == ["STOPPED"]


def test_a_job_stopped_by_somebody_else_is_not_retried(cluster: Client, make_job: MakeJob) -> None:
    job = make_job(SLEEP, retries=1)

    def on_line(line: str) -> None:
        if line == "step 1":
            cluster.stop_job(cluster.running(job.identity))

    outcome = run_job(job, on_line=on_line)
    assert (outcome.status, outcome.attempts) == ("stopped", 1)


def test_an_error_of_the_caller_stops_the_job(cluster: Client, make_job: MakeJob) -> None:
    job = make_job(SLEEP)

    def on_line(line: str) -> None:
        if line == "step 1":
            raise OSError("no room for the log")

    with pytest.raises(OSError, match="no room"):
        run_job(job, on_line=on_line)
    assert _submissions(cluster, job) == ["STOPPED"]


def test_a_submission_left_running_is_followed(
    cluster: Client, make_job: MakeJob, heard: Heard
) -> None:
    job = make_job("print('step 1', flush=True); import time; time.sleep(3); print('step 2')")
    cluster.submit(job, f"{job.identity}-1")
    outcome = heard.run(job)
    assert outcome.status == "succeeded"
    assert heard.saying("step") == ["step 1", "step 2"]
    assert heard.lines[0] == f"cluster: following job {job.identity}-1"
    assert _submissions(cluster, job) == ["SUCCEEDED"]


def test_a_package_that_is_missing_is_named_and_not_tried_again(
    cluster: Client, make_job: MakeJob, heard: Heard
) -> None:
    job = make_job("import verl_of_nobody", retries=2)
    with pytest.raises(UserError) as refused:
        heard.run(job)
    message = str(refused.value)
    assert f"RAY_ADDRESS={os.environ['RAY_ADDRESS']}: the environment of the job" in message
    assert "(ModuleNotFoundError: No module named 'verl_of_nobody')" in message
    assert _submissions(cluster, job) == ["FAILED"]


@pytest.mark.parametrize(
    ("gpus", "nodes", "needs"),
    [(GPUS + 1, 1, "1 node with 3 GPUs"), (1, 2, "2 nodes with 1 GPU")],
)
def test_too_few_accelerators_are_counted(
    cluster: Client, make_job: MakeJob, heard: Heard, gpus: int, nodes: int, needs: str
) -> None:
    with pytest.raises(UserError) as refused:
        heard.run(make_job("", gpus=gpus, nodes=nodes))
    message = str(refused.value)
    assert f"needs {needs} and" in message and "nodes have: 2 GPUs and" in message
    assert "train.cluster.gpus" in message


def test_two_commands_share_an_accelerator_and_a_third_waits(
    cluster: Client,
    make_job: MakeJob,
    heard: Heard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ray counts the parts that commands take; it begins the next when one ends."""
    release = tmp_path / "release"
    holder = make_job(HOLD, str(release), gpus=0, own_gpus=GPUS / 2)
    for name in ("first", "second", "third"):
        cluster.submit(holder, name)

    def statuses() -> list[str]:
        return sorted(str(cluster.get_job_status(name)) for name in ("first", "second", "third"))

    assert until(lambda: statuses() == ["PENDING", "RUNNING", "RUNNING"], 60), statuses()

    monkeypatch.setattr(follow, "SAY_SECONDS", 0.5)
    waits = "cluster: the job waits until its node has room for it"
    with ThreadPoolExecutor(1) as pool:
        fourth = pool.submit(heard.run, holder)
        assert until(lambda: waits in heard.lines, 60), heard.lines
        release.touch()
        assert fourth.result(60).status == "succeeded"
    assert until(lambda: statuses() == ["SUCCEEDED"] * 3, 60), statuses()
