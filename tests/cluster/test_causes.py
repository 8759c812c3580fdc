"""Every cause of failure, from a real job that ends by it to what is done about that."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from pipeline.base.errors import TransientError
from pipeline.ops.cluster.client import Client
from pipeline.ops.cluster.job import JobOutcome
from pipeline.ops.cluster.run import run_job
from pipeline.ops.verl.failures import CAUSES, FailureCause, judge
from tests.cluster.conftest import Heard, MakeJob

CELL = {
    "train": "cells.a.train",
    "accelerators": "4 x a100-80",
    "gpus": 4,
    "nodes": 1,
    "planned": "69.2 in update, of 79.2 GiB",
    "state": "/state",
}
DIED = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    "The actor died because its node has died. Node Id: 4f0c\n"
)


# What torch, verl, Ray or a job print where it ends by a cause.
SAID = {
    "disk full": "(WorkerDict pid=9) OSError: [Errno 28] No space left on device: '/s/x'",
    "not a finite number": "RuntimeError: step 3: loss is nan, not a finite number",
    "bad configuration": (
        "Could not override 'actor_rollout_ref.rollout.nonsense'.\n"
        "To append to your config use +actor_rollout_ref.rollout.nonsense=1\n"
        "Key 'nonsense' is not in struct"
    ),
    "unfit node": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "accelerator memory": (
        "(WorkerDict pid=8) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.3 GiB."
    ),
    "host memory": (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
    ),
    "lost node": (
        DIED + "\tthe actor's node was terminated unexpectedly: "
        "health check failed due to missing too many heartbeats"
    ),
    "lost contact": (
        "(WorkerDict pid=9, ip=10.0.0.5) [rank1]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:685] "
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, "
        "OpType=ALLREDUCE, NumelIn=4661, NumelOut=4661, Timeout(ms)=600000) ran for 600067 "
        "milliseconds before timing out."
    ),
}
# How a job ends by each cause: Python that prints so, or dies so.
ENDS = {
    **{name: f"print({said!r}); raise SystemExit(1)" for name, said in SAID.items()},
    "hung": "import time; time.sleep(600)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}
SAMPLE = {"disk full", "host memory", "lost node"}
"""The causes that jobs end by in `make test`; by the others they do every night."""
STALL = {"hung": 3.0}
# Ends as the cause does; with a checkpoint, it goes on from there and is done.
PROGRAM = """
import pathlib, sys
checkpoint = pathlib.Path("CHECKPOINT")
if checkpoint.exists():
    print("resumed")
    sys.exit()
print("no checkpoint", flush=True)
if STEPS:
    checkpoint.write_text("1")
    print("TOMRL_SAVED 1", flush=True)
"""


def _run(
    job_of: MakeJob, cause: FailureCause, heard: Heard, tmp_path: Path, steps: bool
) -> JobOutcome:
    program = PROGRAM.replace("CHECKPOINT", str(tmp_path / "checkpoint"))
    program = program.replace("STEPS", str(steps)) + dedent(ENDS[cause.name])
    stall = STALL.get(cause.name, 60.0)
    job = job_of(program, name=f"{cause.name} {steps}", retries=1, stall_limit=stall)
    return run_job(
        job,
        on_line=heard.lines.append,
        judge=lambda lines: judge(lines, CELL, stepped="TOMRL_SAVED 1" in heard.lines),
    )


@pytest.mark.parametrize(
    "line",
    [
        "\tthe actor's node was preempted: spot instance",
        "[2026-01-01 00:00:00,000 C 1 1] gcs_client.cc: Failed to connect to GCS in 60 s.",
        "TOMRL_NOTE ends and writes nothing more: its place was taken by 000002-0a1b2c3d",
    ],
)
def test_a_node_is_lost_in_several_words(line: str) -> None:
    verdict = judge([*DIED.splitlines()[:1], line], CELL, stepped=False)
    assert verdict and (verdict.cause, verdict.again) == ("lost node", True)


@pytest.mark.parametrize("stepped", [True, False])
@pytest.mark.parametrize("name", SAID)
def test_a_cause_is_recognised_by_what_was_said(name: str, stepped: bool) -> None:
    verdict = judge(SAID[name].splitlines(), CELL, stepped=stepped)
    (cause,) = (cause for cause in CAUSES if cause.name == name)
    assert verdict and verdict.cause == name
    assert verdict.again == (cause.again == "yes" or (cause.again == "after a step" and stepped))


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(each, marks=() if each.name in SAMPLE else pytest.mark.nightly, id=each.name)
        for each in CAUSES
    ],
)
def test_a_cause_is_recognised_and_tried_again_or_not(
    cluster: Client, make_job: MakeJob, heard: Heard, tmp_path: Path, cause: FailureCause
) -> None:
    outcome = _run(make_job, cause, heard, tmp_path, steps=True)
    if cause.again == "no":
        assert (outcome.status, outcome.attempts) == ("failed", 1)
        _names_the_change(outcome, cause)
    else:
        assert (outcome.status, outcome.attempts) == ("succeeded", 2), outcome.message
        assert heard.saying("resumed") == ["resumed"]
        (note,) = heard.saying("cluster: attempt")
        assert f": {cause.name} (" in note


def _names_the_change(outcome: JobOutcome, cause: FailureCause) -> None:
    assert outcome.verdict and outcome.verdict.cause == cause.name
    error = outcome.error("cell a")
    assert not isinstance(error, TransientError)
    assert str(error).startswith(f"cell a: the job failed after 1 attempt: {cause.name}: ")
    assert str(error).endswith(cause.advice.format_map(CELL))


def test_memory_that_is_out_before_the_first_step_is_for_the_user(
    cluster: Client, make_job: MakeJob, heard: Heard, tmp_path: Path
) -> None:
    (cause,) = (cause for cause in CAUSES if cause.name == "host memory")
    outcome = _run(make_job, cause, heard, tmp_path, steps=False)
    assert outcome.attempts == 1
    _names_the_change(outcome, cause)


def test_retries_are_counted_from_the_last_checkpoint(
    cluster: Client, make_job: MakeJob, heard: Heard, tmp_path: Path
) -> None:
    """The job saves something in attempts 1 and 2, and nothing after that."""
    program = f"""
        import os, pathlib, signal
        saved = pathlib.Path({str(tmp_path / "saved")!r})
        number = int(saved.read_text()) + 1 if saved.exists() else 1
        saved.write_text(str(number))
        if number <= 2:
            print("TOMRL_SAVED", number, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    job = make_job(program, retries=1)
    outcome = run_job(
        job,
        on_line=heard.lines.append,
        judge=lambda lines: judge(lines, CELL, stepped=True),
    )
    assert (outcome.status, outcome.attempts) == ("failed", 3)
    notes = heard.saying("cluster: attempt")
    assert all(note.endswith("(retry 1 of 1 since that was saved)") for note in notes)
    assert len(notes) == 2
    error = outcome.error("cell a")
    assert "failed after 3 attempts: killed: " in str(error)
    assert not isinstance(error, TransientError), "nobody tries it again but a person"


def test_the_docs_have_the_same_table(project: Path) -> None:
    text = (project / "docs" / "cluster.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| .* \| (yes|after a step|no) \| .+ \|$", text, re.M)
    assert rows == [(cause.name, cause.again) for cause in CAUSES]


def test_every_cause_has_a_job_that_ends_by_it() -> None:
    assert set(ENDS) == {cause.name for cause in CAUSES}
