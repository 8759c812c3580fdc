"""Causes of failed commands, from the output of stages and DVC."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

_EXITED = re.compile(r"exited with (-?\d+)\s*$")
_BUSY = ("Unable to acquire lock", "is busy", "failed to lock")
_CUT_OFF = ("Unable to read RWLock-file", "dvc.lock' validation failed", "dvc.lock' is invalid")
_STOPPED = 130  # the status of a stage that was stopped, see pipeline.stages.common
_TRANSIENT = 1
_SIGNALS = 128  # what shells add to the number of a signal


@dataclass(frozen=True)
class Cause:
    """Why a command failed; ``passing`` if retrying may help."""

    text: str
    passing: bool


def cause(lines: Sequence[str]) -> Cause:
    """Why a command of DVC failed, from its last lines of output.

    A stage exits 1 for transient failures and 2 for errors that somebody must fix; a bug shows a
    traceback.
    """
    said = next((line for line in reversed(lines) if line.startswith("error: ")), "")
    last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    status = next((int(found[1]) for line in reversed(lines) if (found := _EXITED.search(line))), 0)
    if any(word in line for line in lines for word in _BUSY):
        return Cause(f"DVC was locked by another process: {last}", passing=True)
    if any(word in line for line in lines for word in _CUT_OFF):
        return Cause(f"another process was killed while it wrote for DVC: {last}", passing=True)
    if number := _signal(status):
        return Cause(f"killed by {number.name}, perhaps because memory ran out", passing=True)
    if said:
        return Cause(said.removeprefix("error: "), passing=status == _TRANSIENT)
    return Cause(last, passing=False)


def _signal(status: int) -> signal.Signals | None:
    number = -status if status < 0 else status - _SIGNALS
    known = number in {each.value for each in signal.Signals}
    return signal.Signals(number) if known and status != _STOPPED else None
