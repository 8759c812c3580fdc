"""Running a job to its end: on which cluster, after which checks, and how often."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.base.errors import UserError
from pipeline.ops.cluster.job import (
    LEAD_IN,
    USER_ERROR_LINE,
    USER_ERROR_STATUS,
    Diagnosis,
    Job,
    JobOutcome,
    Status,
    Taken,
    node_minutes,
)

if TYPE_CHECKING:
    from pipeline.ops.cluster.client import Address, Client
    from pipeline.ops.cluster.follow import Clock, JobEnd

OnLine = Callable[[str], None]
Is = Callable[[str], bool]
Judge = Callable[[Sequence[str]], Diagnosis | None]

CPUS_BESIDE, CPUS_OF_RANK = 16, 3  # of a private head, at least
JUDGED_LINES = 2000
_MISSING = "ModuleNotFoundError: "


def run_job(
    job: Job,
    *,
    on_line: OnLine,
    is_progress: Is,
    is_saved: Is = lambda line: False,
    judge: Judge = lambda lines: None,
) -> JobOutcome:
    """Run a job and return when it has ended.

    The cluster is the one that ``RAY_ADDRESS`` names (with ``RAY_AUTH_TOKEN``); without it, a
    private head runs in the engine environment (``TOMRL_ENGINE_PYTHON``) and is gone afterwards,
    whatever happens to this process. A submission of the same job that still runs on the cluster,
    left by a process that was killed, is followed instead of starting a second one.

    SIGTERM, Ctrl-C and any error in ``on_line`` stop the job before they leave this function; a
    second signal does not wait for it.

    Args:
        job: What to run.
        on_line: Called with each line of the job's log, in order and once for every attempt, and
            with notes on the job itself, which begin with ``cluster:``.
        is_progress: Whether a line is progress; each restarts the stall limit.
        is_saved: Whether a line says that something new is saved from which another attempt goes
            on; each gives the job all its retries back.
        judge: Says from the last lines of a failed attempt, and the cluster's word on it, whether
            another may help. One is made if it does not know.

    Raises:
        UserError: If the cluster does not fit, before the job starts, or if the job lacks a
            package or says that its user must act.
        TransientError: If the cluster does not answer, or a private head has ended.
        KeyboardInterrupt: On SIGTERM and Ctrl-C.
    """
    from pipeline.ops.cluster.follow import Clock

    rules = _Rules(on_line, is_progress, is_saved, judge)
    tally = _Tally(job.retries, Clock(job.time_limit))
    with _termination_as_interrupt(), _cluster(job, on_line) as (client, running):
        return _attempts(client, job, running, rules, tally)


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, where this thread may decide that."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _cluster(job: Job, on_line: OnLine) -> Iterator[tuple[Client, str | None]]:
    """Yield a cluster that fits the job, and the submission of the job that still runs on it."""
    from pipeline.ops.cluster.client import (
        check_room,
        configured_address,
        connect,
    )
    from pipeline.ops.cluster.head import engine_python

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
    from pipeline.ops.cluster.gpus import leased
    from pipeline.ops.cluster.head import Offer, private_head

    cpus = CPUS_BESIDE + CPUS_OF_RANK * job.gpus
    with leased(job.gpus, job.gpus, os.environ, lambda text: on_line(f"cluster: {text}")) as own:
        offer = Offer(len(own.devices), max(cpus, os.cpu_count() or 1))
        environment = {**os.environ, **own.variables}
        with private_head(python, environment, offer, own.handles) as address:
            yield address


@dataclass(frozen=True)
class _Rules:
    """What the caller of a job makes of its lines."""

    on_line: OnLine
    is_progress: Is
    is_saved: Is
    judge: Judge


@dataclass
class _Tally:
    """What is counted over all attempts of a job.

    Attributes:
        retries: Of these, how many may be in vain in a row.
        clock: The time that they have left.
        attempts: So far.
        in_vain: Attempts since something new was saved.
    """

    retries: int
    clock: Clock
    attempts: int = 0
    in_vain: int = 0

    def may_go_on(self, *, saved: bool) -> bool:
        """Count a failure; return whether another attempt may follow."""
        self.in_vain = 1 if saved else self.in_vain + 1
        return self.in_vain <= self.retries


@dataclass
class _Attempt:
    """One submission, as its lines show it."""

    rules: _Rules
    saved: bool = False
    error: str | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=JUDGED_LINES))

    def hear(self, line: str) -> None:
        """Note a line and pass it on."""
        self.lines.append(line)
        self.saved = self.rules.is_saved(line) or self.saved
        if line.startswith(USER_ERROR_LINE):
            self.error = line.removeprefix(USER_ERROR_LINE)
        self.rules.on_line(line)

    @property
    def missing(self) -> str:
        """What Python ended with for want of a package; empty if it did not."""
        last = next((line for line in reversed(self.lines) if line), "")
        return last if last.startswith(_MISSING) else ""

    def verdict(self, ended: JobEnd) -> Diagnosis | None:
        return self.rules.judge([*self.lines, *ended.message.splitlines()])


def _attempts(
    client: Client, job: Job, running: str | None, rules: _Rules, tally: _Tally
) -> JobOutcome:
    while True:
        tally.attempts += 1
        attempt, ended = _attempt(client, job, running, rules, tally.clock)
        if ended.exit_status == USER_ERROR_STATUS:
            raise UserError(attempt.error or f"job {job.name}: {ended.message}")
        if ended.status == "failed" and (missing := attempt.missing):
            raise UserError(
                f"{client.place}: the environment of the job {job.name} does not fit ({missing}): "
                "use the trainer image on the cluster's nodes, or run `make test-engines` for the "
                "environment of a private head"
            )
        if ended.status in ("succeeded", "timed_out", "stopped"):
            return JobOutcome(ended.status, tally.attempts, ended.message)
        if ended.status == "crowded_out" and job.queues:
            rules.on_line("cluster: Ray gave up the job after a long wait; it is submitted again")
            running = None
            continue
        verdict = attempt.verdict(ended)
        if not tally.may_go_on(saved=attempt.saved) or (verdict and not verdict.again):
            status: Status = "stalled" if ended.status == "stalled" else "failed"
            return JobOutcome(status, tally.attempts, ended.message, verdict)
        rules.on_line(
            f"cluster: attempt {tally.attempts} {ended.status}: {_why(ended, verdict)}; the next "
            f"resumes from the last checkpoint (retry {tally.in_vain} of {job.retries} since that "
            "was saved)"
        )
        # Whatever was lost or could not be stopped may still run; two must not.
        running = client.running(job.identity)


def _attempt(
    client: Client, job: Job, running: str | None, rules: _Rules, clock: Clock
) -> tuple[_Attempt, JobEnd]:
    """Follow one submission to its end: the one that runs, or a new one."""
    from pipeline.ops.cluster.follow import follow

    attempt = _Attempt(rules)
    command, takes = job.arguments, job.takes
    with _submitted(client, job, job.identity, command, takes, running) as submission:
        rules.on_line(f"cluster: {'following' if running else 'submitted'} job {submission}")
        ended = follow(
            client,
            submission,
            clock=clock,
            stall_limit=job.stall_limit,
            start_limit=job.start_limit,
            on_line=attempt.hear,
            is_progress=rules.is_progress,
        )
    return attempt, ended


def _why(ended: JobEnd, verdict: Diagnosis | None) -> str:
    first = ended.message.partition("\n")[0].removesuffix(LEAD_IN)
    return f"{verdict.cause} ({first})" if verdict else first


@contextlib.contextmanager
def _submitted(
    client: Client,
    job: Job,
    prefix: str,
    arguments: tuple[str, ...],
    takes: Taken,
    running: str | None = None,
) -> Iterator[str]:
    """Submit a command (or take the submission that runs) and stop it if the block raises."""
    submission = running or f"{prefix}-{secrets.token_hex(3)}"
    try:
        if running is None:
            client.submit(shlex.join(arguments), submission, job.runtime_environment, takes)
        yield submission
    except BaseException:
        from pipeline.ops.cluster.follow import stop

        stop(client, submission)
        raise
