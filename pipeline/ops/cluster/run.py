"""Running a job to its end: on which cluster, after which checks, and how often."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.ops.cluster.client import Address, Client, check_room, configured_address, connect
from pipeline.ops.cluster.follow import Clock, JobEnd, follow, stop
from pipeline.ops.cluster.gpus import leased
from pipeline.ops.cluster.head import engine_python, private_head
from pipeline.ops.cluster.job import (
    LEAD_IN,
    SAVED,
    USER_ERROR_LINE,
    USER_ERROR_STATUS,
    Diagnosis,
    Job,
    JobOutcome,
    Status,
    node_minutes,
)

OnLine = Callable[[str], None]
Judge = Callable[[Sequence[str]], Diagnosis | None]

CPUS_BESIDE, CPUS_OF_RANK = 16, 3  # of a private head, at least
JUDGED_LINES = 2000
_MISSING = "ModuleNotFoundError: "


def run_job(job: Job, on_line: OnLine, judge: Judge = lambda lines: None) -> JobOutcome:
    """Run a job and return when it has ended.

    The cluster is the one that ``RAY_ADDRESS`` names (with ``RAY_AUTH_TOKEN``); without it, a
    private head runs in the engine environment (``TOMRL_ENGINE_PYTHON``) and is gone afterwards,
    whatever happens to this process. A submission of the same job that still runs on the cluster,
    left by a process that was killed, is followed instead of starting a second one.

    Ctrl-C, SIGTERM where it raises as in stages, and any error in ``on_line`` stop the job before
    they leave this function; a second signal does not wait for it.

    Args:
        job: What to run.
        on_line: Called with each line of the job's log, in order and once for every attempt, and
            with notes on the job itself, which begin with ``cluster:``.
        judge: Says from the last lines of a failed attempt, and the cluster's word on it, whether
            another may help. One is made if it does not know.

    Raises:
        UserError: If the cluster does not fit, before the job starts, or if the job lacks a
            package or says that its user must act.
        TransientError: If the cluster does not answer, or a private head has ended.
        KeyboardInterrupt: On Ctrl-C, and on SIGTERM where it raises.
    """
    with _cluster(job, on_line) as (client, running):
        return _Run(client, job, on_line, judge, Clock(job.time_limit)).to_end(running)


@contextlib.contextmanager
def _cluster(job: Job, on_line: OnLine) -> Iterator[tuple[Client, str | None]]:
    """Yield a cluster that fits the job, and the submission of the job that still runs on it."""
    address = configured_address(os.environ)
    if address is not None:
        client = connect(address)
        if not node_minutes(os.environ):
            check_room(client, job)
        yield client, client.running(job.identity)
        return
    python = engine_python(os.environ)
    with _own_head(python, job, on_line) as address:
        client = connect(address)
        check_room(client, job)
        yield client, None


@contextlib.contextmanager
def _own_head(python: Path, job: Job, on_line: OnLine) -> Iterator[Address]:
    """Yield a private head that alone is given some accelerators of this machine."""
    cpus = max(CPUS_BESIDE + CPUS_OF_RANK * job.gpus, os.cpu_count() or 1)
    with leased(job.gpus, job.gpus, os.environ, lambda text: on_line(f"cluster: {text}")) as own:
        environment, gpus = {**os.environ, **own.variables}, len(own.devices)
        with private_head(python, environment, gpus, cpus, own.handles) as address:
            yield address


@dataclass
class _Run:
    """A job on its cluster, and what its attempts have shown so far.

    Attributes:
        clock: The time that they have left.
        attempts: How many there were.
        saved: The last step that was saved.
        in_vain: Attempts since something new was saved.
        lines: The last lines of the attempt that runs.
    """

    client: Client
    job: Job
    on_line: OnLine
    judge: Judge
    clock: Clock
    attempts: int = 0
    saved: int = 0
    in_vain: int = 0
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=JUDGED_LINES))

    def to_end(self, running: str | None) -> JobOutcome:
        """Make attempts, of which one may be ``running``, until the job has ended."""
        while True:
            self.attempts += 1
            self.lines.clear()
            ended = self._attempt(running)
            self._check(ended)
            if ended.status in ("succeeded", "timed_out", "stopped"):
                return JobOutcome(ended.status, self.attempts, ended.message)
            if ended.status == "crowded_out" and self.job.queues:
                self.on_line(
                    "cluster: Ray gave up the job after a long wait; it is submitted again"
                )
                running = None
                continue
            self.in_vain += 1
            verdict = self.judge([*self.lines, *ended.message.splitlines()])
            if self.in_vain > self.job.retries or (verdict and not verdict.again):
                status: Status = "stalled" if ended.status == "stalled" else "failed"
                return JobOutcome(status, self.attempts, ended.message, verdict)
            self.on_line(
                f"cluster: attempt {self.attempts} {ended.status}: {_why(ended, verdict)}; the "
                f"next resumes from the last checkpoint (retry {self.in_vain} of "
                f"{self.job.retries} since that was saved)"
            )
            # Whatever was lost or could not be stopped may still run; two must not.
            running = self.client.running(self.job.identity)

    def _attempt(self, running: str | None) -> JobEnd:
        """Follow one submission to its end: the one that runs, or a new one.

        It is stopped if anything raises meanwhile.
        """
        submission = running or f"{self.job.identity}-{secrets.token_hex(3)}"
        try:
            if running is None:
                self.client.submit(self.job, submission)
            self.on_line(f"cluster: {'following' if running else 'submitted'} job {submission}")
            return follow(self.client, submission, self.job, self.clock, self._hear)
        except BaseException:
            stop(self.client, submission)
            raise

    def _hear(self, line: str) -> None:
        """Note a line and pass it on."""
        self.lines.append(line)
        if line.startswith(SAVED) and (step := int(line.removeprefix(SAVED))) > self.saved:
            self.saved, self.in_vain = step, 0
        self.on_line(line)

    def _check(self, ended: JobEnd) -> None:
        """Check that an attempt did not end for something that its user must mend.

        Raises:
            UserError: If it did.
        """
        if ended.exit_status == USER_ERROR_STATUS:
            said = [line for line in self.lines if line.startswith(USER_ERROR_LINE)]
            error = said[-1].removeprefix(USER_ERROR_LINE) if said else ""
            raise UserError(error or f"job {self.job.name}: {ended.message}")
        last = next((line for line in reversed(self.lines) if line), "")
        if ended.status == "failed" and last.startswith(_MISSING):
            raise UserError(
                f"{self.client.place}: the environment of the job {self.job.name} does not fit "
                f"({last}): use the trainer image on the cluster's nodes, or run `make "
                "test-engines` for the environment of a private head"
            )


def _why(ended: JobEnd, verdict: Diagnosis | None) -> str:
    first = ended.message.partition("\n")[0].removesuffix(LEAD_IN)
    return f"{verdict.cause} ({first})" if verdict else first
