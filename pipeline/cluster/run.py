"""Running a job to its end: on which cluster, after which checks, and how often."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.cluster import contract
from pipeline.cluster.job import USER_ERROR_LINE, USER_ERROR_STATUS, Job, JobOutcome
from pipeline.errors import UserError

if TYPE_CHECKING:
    from pipeline.cluster.client import Address, Client
    from pipeline.cluster.follow import Ended

OnLine = Callable[[str], None]

WAIT_SECONDS = 5.0  # between looks for free accelerators
SAY_SECONDS = 60.0
CHECK_SECONDS = 900.0  # the first job on a node may wait for an image


def run_job(job: Job, *, on_line: OnLine, is_progress: Callable[[str], bool]) -> JobOutcome:
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

    Raises:
        UserError: If the cluster or the job's environment does not fit, before the job starts, or
            if the job says that its user must act.
        KeyboardInterrupt: On SIGTERM and Ctrl-C.
    """
    with _termination_as_interrupt(), _cluster(job) as (client, running):
        return _attempts(client, job, running, on_line, is_progress)


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
def _cluster(job: Job) -> Iterator[tuple[Client, str | None]]:
    """Yield a cluster that fits the job, and the submission of the job that still runs on it."""
    from pipeline.cluster.client import check_accelerators, configured_address, connect
    from pipeline.cluster.head import engine_python, private_head

    address = configured_address(os.environ)
    if address is not None:
        client = connect(address)
        check_accelerators(client, address, job.gpus, job.nodes)
        running = client.running(job.identity)
        if running is None:
            _check_environment(client, address, job)
        yield client, running
        return
    python = engine_python(os.environ)
    _check_engine(python, job)
    with private_head(python, os.environ, job.gpus if job.cpu_only else None) as address:
        client = connect(address)
        check_accelerators(client, address, job.gpus, job.nodes)
        yield client, None


def _check_engine(python: Path, job: Job) -> None:
    """Check the contract with the engine environment, before a head is started in it."""
    from pipeline.cluster.head import engine_environment

    requires = {"ray": "", **job.requires}
    checked = subprocess.run(
        contract.command(str(python), requires),
        cwd=job.folder,
        env={**engine_environment(python, os.environ), **job.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    contract.check(checked.stdout.splitlines(), requires, f"the engine environment ({python})")


def _check_environment(client: Client, address: Address, job: Job) -> None:
    """Check the contract with the environment of the cluster's nodes, in a job of its own."""
    from pipeline.cluster.follow import follow

    if not job.requires:
        return
    lines: list[str] = []
    check = contract.command(job.arguments[0], job.requires)
    with _submitted(client, job, f"check-{job.identity}", check) as submission:
        ended = follow(
            client,
            submission,
            deadline=time.monotonic() + CHECK_SECONDS,
            stall_limit=CHECK_SECONDS,
            on_line=lines.append,
            is_progress=lambda line: False,
        )
    where = f"the environment of the cluster ({address})"
    contract.check([*lines, ended.message], job.requires, where)


def _attempts(
    client: Client, job: Job, running: str | None, on_line: OnLine, is_progress: Callable[..., bool]
) -> JobOutcome:
    from pipeline.cluster.follow import follow

    deadline = time.monotonic() + job.time_limit
    for attempt in range(1, job.retries + 2):
        _await_accelerators(client, job, deadline, on_line, running)
        errors: list[str] = []

        def hear(line: str, errors: list[str] = errors) -> None:
            if line.startswith(USER_ERROR_LINE):
                errors.append(line.removeprefix(USER_ERROR_LINE))
            on_line(line)

        with _submitted(client, job, job.identity, job.arguments, running) as submission:
            on_line(f"cluster: {'following' if running else 'submitted'} job {submission}")
            ended = follow(
                client,
                submission,
                deadline=deadline,
                stall_limit=job.stall_limit,
                on_line=hear,
                is_progress=is_progress,
            )
        if ended.exit_status == USER_ERROR_STATUS:
            raise UserError(errors[-1] if errors else f"job {job.name}: {ended.message}")
        if ended.status in ("succeeded", "timed_out", "stopped") or attempt > job.retries:
            break
        on_line(
            f"cluster: attempt {attempt} of {job.retries + 1} {ended.status}: {_first(ended)}; "
            "the next goes on from its last checkpoint"
        )
        # Whatever was lost or could not be stopped may still run; two must not.
        running = client.running(job.identity)
    status = "failed" if ended.status == "lost" else ended.status
    return JobOutcome(status, attempt, ended.message)


def _first(ended: Ended) -> str:
    return ended.message.partition("\n")[0].removesuffix("; its last lines:")


@contextlib.contextmanager
def _submitted(
    client: Client,
    job: Job,
    prefix: str,
    arguments: tuple[str, ...],
    running: str | None = None,
) -> Iterator[str]:
    """Submit a command (or take the submission that runs) and stop it if the block raises."""
    submission = running or f"{prefix}-{secrets.token_hex(3)}"
    try:
        if running is None:
            client.submit(shlex.join(arguments), submission, job.runtime_environment)
        yield submission
    except BaseException:
        from pipeline.cluster.follow import stop

        stop(client, submission)
        raise


def _await_accelerators(
    client: Client, job: Job, deadline: float, on_line: OnLine, running: str | None
) -> None:
    """Wait until no other job holds what this one needs.

    verl does not wait: it fails when its accelerators are not free at the start, as they are not
    for some seconds after an attempt was stopped.
    """
    said = -SAY_SECONDS
    while running is None and time.monotonic() < deadline:
        free = client.free_accelerators()
        if free is None or free >= job.gpus * job.nodes:
            return
        if time.monotonic() - said > SAY_SECONDS:
            on_line(f"cluster: waiting for {job.gpus * job.nodes} free GPUs, {free} now")
            said = time.monotonic()
        time.sleep(WAIT_SECONDS)
