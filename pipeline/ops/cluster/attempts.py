"""Where the attempts of a job lie in its state folder, which outlives them.

An attempt writes in a folder of its own, ``attempts/NAME``, named by its lease. The next one takes
over by renaming that folder: whatever an attempt that was thought dead still writes by its old path
lies where nobody looks.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.formats.files import replacing
from pipeline.ops.cluster.job import SUBMISSION_VARIABLE
from pipeline.ops.cluster.job_lines import NOTE, OUTCOME, JobResult, TrainingSpec, say
from pipeline.ops.cluster.lease import Holder, Lease, hold
from pipeline.train.contract import Outcome


@dataclass(frozen=True, slots=True)
class LeasedAttempt:
    """An attempt that holds the lease.

    Attributes:
        folder: Its own, with what the last attempt left.
        lease: The lease.
        lost: Set when the lease is seen to be lost.
    """

    folder: Path
    lease: Lease
    lost: threading.Event


def train_once(spec: TrainingSpec, train: Callable[[LeasedAttempt], Outcome]) -> str:
    """Train with the lease on the state folder, and return the digest of the result.

    Once the result is kept nothing of the attempts is left, and it is returned again.

    Args:
        spec: The run.
        train: Trains, going on from what is in the attempt's folder.

    Raises:
        LeaseLost: If another attempt took over.
        BaseException: What ``train`` raises, unless that is why.
    """
    root = Path(spec.state)
    result = root / "result.json"
    with _attempting(root) as (lease, lost):
        if not result.is_file():
            digest = _train(spec, train, LeasedAttempt(take_over(root, lease.name), lease, lost))
            JobResult(digest=digest).write(result)
        shutil.rmtree(attempts_folder(root), ignore_errors=True)  # who is late may write there yet
        return JobResult.read(result, f"train@{spec.key}").digest


def _train(
    spec: TrainingSpec, train: Callable[[LeasedAttempt], Outcome], attempt: LeasedAttempt
) -> str:
    """Train, and keep the result."""
    try:
        outcome = train(attempt)
    except BaseException:
        with suppress(OSError):  # what ended it says more than that the lease cannot be read
            attempt.lease.check()  # an attempt that was overtaken says that, not how it ended
        raise
    attempt.lease.check()
    with replacing(attempt.folder / "result") as temporary:
        outcome.write(temporary / OUTCOME)
    digest = spec.kept.take(attempt.folder / "result")
    attempt.lease.check()
    return digest


@contextmanager
def _attempting(root: Path) -> Iterator[tuple[Lease, threading.Event]]:
    """Hold the lease on a state folder; see :func:`pipeline.ops.cluster.lease.hold`."""
    holder = Holder.here(os.environ.get(SUBMISSION_VARIABLE, ""))
    with hold(lease_folder(root), holder, above=last_number(root), say=partial(say, NOTE)) as (
        lease,
        lost,
    ):
        yield lease, lost


def lease_folder(root: Path) -> Path:
    """The folder of the attempts' leases."""
    return root / "lease"


def attempts_folder(root: Path) -> Path:
    """The folder of the attempts' own folders."""
    return root / "attempts"


def last_number(root: Path) -> int:
    """The number of the last attempt that left something; 0 if none did."""
    numbers = [int(path.name.partition("-")[0]) for path in attempts_folder(root).glob("*-*")]
    return max(numbers, default=0)


def take_over(root: Path, attempt: str) -> Path:
    """The folder of an attempt, with what the last one left.

    What earlier ones wrote after they ended is removed.
    """
    folder, known = attempts_folder(root) / attempt, attempts_folder(root).glob("*-*")
    earlier = sorted(path for path in known if path.name < attempt)
    if earlier:
        earlier.pop().rename(folder)
    else:
        folder.mkdir(parents=True)
    for stray in earlier:
        shutil.rmtree(stray, ignore_errors=True)  # its writer may be at work yet
    return folder
