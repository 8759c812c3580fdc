"""Following one submission: every log line once, its status, and the limits on it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import aiohttp
from ray.dashboard.modules.job.common import JobErrorType
from ray.job_submission import JobStatus

from pipeline.ops.cluster.client import LOST_SECONDS, REQUEST_ERRORS, Client
from pipeline.ops.cluster.job import HOLDS, LEAD_IN, NOTE, WAITS, Job

POLL_SECONDS = 0.5
RECONNECT_SECONDS = 1.0
SAY_SECONDS = 60.0
QUIET_SECONDS = 60.0  # without a line, the whole log is read: the stream may be dead unnoticed
STOP_SECONDS = 60.0
NODE_SECONDS = 300.0  # without progress, after a node was lost
LAST_LINES = 20
# Ray 2.60: worker.py (print_worker_logs) and gcs_node_manager.cc.
_WORKER = re.compile(r"^(?:\x1b\[\d+m)?\(\S+ pid=\d+, ip=([^)]+)\)")
_DEAD = re.compile(r"\(raylet\).* and address: (\S+) and .*has been marked dead")


@dataclass(frozen=True)
class JobEnd:
    """How one submission ended.

    It is ``lost`` when the cluster no longer knows it or answers, and ``crowded_out`` when Ray
    found no room to begin it in its own time limit.
    """

    status: Literal["succeeded", "failed", "stopped", "stalled", "timed_out", "lost", "crowded_out"]
    exit_status: int | None
    message: str


class LogStream:
    """The log of a submission as complete lines, each exactly once.

    Ray sends the log from its beginning on every connection. The stream is read in a thread that
    connects again whenever it breaks; pieces carry their position in the log, so that what was
    already given out is skipped.
    """

    def __init__(self, client: Client, submission: str) -> None:
        self._client = client
        self._submission = submission
        self._pieces: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._position = 0
        self._partial = ""
        self._closed = False
        read = partial(asyncio.run, self._read())
        threading.Thread(target=read, name="ray-log", daemon=True).start()

    def lines(self, seconds: float) -> list[str]:
        """The lines that came within ``seconds``, as soon as there are any."""
        lines: list[str] = []
        with contextlib.suppress(queue.Empty):
            lines += self._take(*self._pieces.get(timeout=seconds))
            while True:
                lines += self._take(*self._pieces.get_nowait())
        return lines

    def missing_lines(self) -> list[str]:
        """The lines that the stream has not brought, from one request of the whole log."""
        try:
            return self._take(0, self._client.get_job_logs(self._submission))
        except REQUEST_ERRORS:
            return []

    def last_lines(self) -> list[str]:
        """What is left when nothing more will come, an unfinished line included."""
        lines = self.missing_lines()
        return [*lines, self._partial] if self._partial else lines

    def close(self) -> None:
        """Have the thread connect no more; it ends with the log that it reads."""
        self._closed = True

    def _take(self, start: int, piece: str) -> list[str]:
        new = piece[max(0, self._position - start) :]
        self._position += len(new)
        *lines, self._partial = (self._partial + new).split("\n")
        return lines

    async def _read(self) -> None:
        while not self._closed:
            position = 0
            with contextlib.suppress(aiohttp.ClientError, OSError, RuntimeError):
                async for piece in self._client.tail_job_logs(self._submission):
                    self._pieces.put((position, piece))
                    position += len(piece)
            await asyncio.sleep(RECONNECT_SECONDS)


@dataclass
class Clock:
    """The time that the attempts of a job have left; it stands still while one waits.

    Attributes:
        left: Seconds.
        waits: Whether the job waits for a place, or for its accelerators.
    """

    left: float
    waits: bool = False
    _looked: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        self._looked, self.waits = time.monotonic(), False

    def is_over(self) -> bool:
        """Count the time since the last look, and say whether none is left."""
        now = time.monotonic()
        self.left -= 0.0 if self.waits else now - self._looked
        self._looked = now
        return self.left < 0

    def hear(self, line: str) -> None:
        """Learn from a line whether the job waits."""
        if line.startswith((WAITS, HOLDS)):
            self.is_over()
            self.waits = line.startswith(WAITS)


@dataclass
class _Stall:
    """How long a job may go on without progress.

    verl can hang and go on to print; before its first step it says little else than what it does.

    Attributes:
        job: Says how long, usually and between its accelerators and its first step.
        limit: The seconds that hold now.
        since: Seconds on the monotonic clock, of the last progress.
    """

    job: Job
    limit: float = field(init=False)
    since: float = field(default_factory=time.monotonic)
    _nodes: set[str] = field(default_factory=set)
    _now: float = field(init=False)
    _stepped: bool = False

    def __post_init__(self) -> None:
        self.limit = self._now = self.job.stall_limit

    def hear(self, line: str) -> None:
        """Learn from a line what the job does."""
        if line.startswith(HOLDS):
            self._now = min(self.job.stall_limit, self.job.start_limit)
        elif line.startswith(self.job.progress):
            self._now, self._stepped = self.job.stall_limit, True
        self._nodes.update(_WORKER.findall(line))  # those that the job is on
        dead = _DEAD.search(line)
        if dead is not None and dead[1] in self._nodes:
            self.since, self.limit = time.monotonic(), min(self.limit, NODE_SECONDS)
        elif not self._stepped or line.startswith((self.job.progress, NOTE, WAITS, HOLDS)):
            self.since, self.limit = time.monotonic(), self._now

    @property
    def is_over(self) -> bool:
        """Whether it counts as hung."""
        return time.monotonic() - self.since > self.limit

    def why(self) -> str:
        """What to say of a job that has hung."""
        since = " since it lost a node" if self.limit < self._now else ""
        return f"stopped after {self.limit:g} s without progress{since}"


def follow(
    client: Client, submission: str, job: Job, clock: Clock, on_line: Callable[[str], None]
) -> JobEnd:
    """Pass on the lines of a submission until it ends or reaches a limit, which stops it.

    Some of a job waits for a lost node for ever: after ``NODE_SECONDS`` without progress since then
    it is stopped too.

    Args:
        client: The cluster.
        submission: Submission id.
        job: What was submitted.
        clock: The time that it has left.
        on_line: Called with each line, in order.

    Raises:
        TransientError: If the cluster is a private head that has ended.
    """
    last: deque[str] = deque(maxlen=LAST_LINES)
    heard = told = time.monotonic()
    stall = _Stall(job)
    clock.begin()

    def pass_on(lines: list[str]) -> None:
        nonlocal heard
        for line in lines:
            heard = time.monotonic()
            clock.hear(line)
            stall.hear(line)
            if line:
                last.append(line)
            on_line(line)

    def stopped(status: Literal["stalled", "timed_out"], why: str) -> JobEnd:
        stop(client, submission)
        pass_on(log.last_lines())
        return JobEnd(status, None, _with_log(why, last))

    with contextlib.closing(LogStream(client, submission)) as log:
        for status, silent in _statuses(client, submission, lambda: pass_on(log.lines(0.2))):
            if status is not None and status.is_terminal():
                pass_on(log.last_lines())
                return _ended(client, submission, last)
            if silent > LOST_SECONDS:
                pass_on(log.lines(0.0))
                client.check_lives()
                return JobEnd("lost", None, _with_log(f"no answer for {silent:.0f} s", last))
            now = time.monotonic()
            if status == JobStatus.PENDING:
                stall.since = now
                if now - told > SAY_SECONDS:
                    told = now
                    on_line("cluster: the job waits until its node has room for it")
                clock.begin()  # this time is not its own
            if clock.is_over():
                return stopped("timed_out", "stopped at its time limit")
            if stall.is_over or now - heard > QUIET_SECONDS:
                heard = now
                pass_on(log.missing_lines())
            if stall.is_over:
                return stopped("stalled", stall.why())
    raise AssertionError("the statuses of a submission do not end")


def _statuses(
    client: Client, submission: str, meanwhile: Callable[[], None]
) -> Iterator[tuple[JobStatus | None, float]]:
    """Yield the status (None: no answer) and the seconds since the last answer, each poll.

    Of a head of this process that has ended no answer is awaited.

    A cluster that answers but does not know the submission has lost it with its head: the status
    is then ``FAILED``.
    """
    answered = polled = time.monotonic()
    while True:
        try:
            status = client.get_job_status(submission)
            answered = time.monotonic()
        except REQUEST_ERRORS as error:
            status = JobStatus.FAILED if _unknown(submission, error) else None
            if not client.place.lives():
                answered = -math.inf
        yield status, time.monotonic() - answered
        polled = time.monotonic()
        while time.monotonic() - polled < POLL_SECONDS:
            meanwhile()


def _ended(client: Client, submission: str, last: deque[str]) -> JobEnd:
    try:
        details = client.get_job_info(submission)
    except REQUEST_ERRORS as error:
        return JobEnd("lost", None, _with_log(f"the cluster lost it ({error})", last))
    if details.status == JobStatus.SUCCEEDED:
        return JobEnd("succeeded", 0, "")
    if details.status == JobStatus.STOPPED:
        return JobEnd("stopped", None, _with_log("somebody stopped it on the cluster", last))
    if details.error_type == JobErrorType.JOB_SUPERVISOR_ACTOR_START_TIMEOUT.value:
        return JobEnd("crowded_out", None, (details.message or "").strip())
    if details.driver_exit_code is None:  # it never ran, or its node is gone
        return JobEnd(
            "failed", None, _with_log((details.message or "no reason given").strip(), last)
        )
    why = f"exit status {details.driver_exit_code}"
    return JobEnd("failed", details.driver_exit_code, _with_log(why, last))


def _unknown(submission: str, error: Exception) -> bool:
    """Whether the cluster answers that it does not know a submission."""
    return f"{submission} does not exist" in str(error)


def _with_log(why: str, last: deque[str]) -> str:
    return f"{why}{LEAD_IN}\n" + "\n".join(last) if last else why


def stop(client: Client, submission: str) -> None:
    """Ask the cluster to stop a submission and wait until it has ended.

    The cluster signals the job's processes and kills those that are left 3 s later. Requests that
    fail are repeated. Returns as well when the submission is unknown, its head has ended, or nobody
    answers in time.
    """
    deadline = time.monotonic() + STOP_SECONDS
    asked = False
    while time.monotonic() < deadline:
        try:
            if not asked:
                client.stop_job(submission)
                asked = True
            if client.get_job_status(submission).is_terminal():
                return
        except REQUEST_ERRORS as error:
            if _unknown(submission, error) or not client.place.lives():
                return
        time.sleep(0.3)
