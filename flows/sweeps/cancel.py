"""Stopping a sweep that another process runs."""

from __future__ import annotations

import os
import platform
import signal
import time

from flows.sweeps.record import SweepFolder
from pipeline.base.errors import UserError
from pipeline.base.ownership import in_use, is_owned, owner_of
from pipeline.base.processes import GRACE_SECONDS

_SECONDS_TO_END = GRACE_SECONDS + 15  # its commands, then Prefect's last words


def cancel(folder: SweepFolder) -> None:
    """Ask the process that runs a sweep to stop, and wait until it has.

    Raises:
        UserError: If there is no such sweep, none runs it, or that process is out of reach.
    """
    name = folder.sweep().name
    if not is_owned(folder.path):
        raise UserError(f"sweep {name} is not running; see: tomrl sweep status")
    owner = owner_of(folder.path)
    if owner is None:
        raise UserError(f"sweep {name} is just starting or ending; try again")
    if owner["machine"] != platform.node():
        raise UserError(f"{in_use(folder.path)}; cancel it there")
    process = int(owner["process"])
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + _SECONDS_TO_END
    while is_owned(folder.path):
        if time.monotonic() > deadline:
            raise UserError(
                f"{in_use(folder.path)}, and does not stop; kill it with: kill -9 {process}"
            )
        time.sleep(0.1)
