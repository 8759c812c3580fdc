"""Where the attempts of a job lie in its state folder, which outlives them.

An attempt writes in a folder of its own, ``attempts/NAME``, named by its lease. The next one takes
over by renaming that folder: whatever an attempt that was thought dead still writes by its old path
lies where nobody looks.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pipeline.cluster.job import SUBMISSION_VARIABLE
from pipeline.cluster.lease import Holder, Lease, hold
from pipeline.train.job_lines import NOTE, say


@contextmanager
def attempting(root: Path) -> Iterator[tuple[Lease, threading.Event]]:
    """Hold the lease on a state folder; see :func:`pipeline.cluster.lease.hold`."""
    holder = Holder.here(os.environ.get(SUBMISSION_VARIABLE, ""))
    with hold(lease_folder(root), holder, above=last_number(root), say=partial(say, NOTE)) as (
        lease,
        lost,
    ):
        yield lease, lost


def result_file(root: Path) -> Path:
    """Return the file that names the result once everything is done."""
    return root / "result.json"


def lease_folder(root: Path) -> Path:
    """Return the folder of the attempts' leases."""
    return root / "lease"


def attempts_folder(root: Path) -> Path:
    """Return the folder of the attempts' own folders."""
    return root / "attempts"


def last_number(root: Path) -> int:
    """Return the number of the last attempt that left something; 0 if none did."""
    numbers = [int(path.name.partition("-")[0]) for path in attempts_folder(root).glob("*-*")]
    return max(numbers, default=0)


def take_over(root: Path, attempt: str) -> Path:
    """Return the folder of an attempt, with what the last one left.

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
