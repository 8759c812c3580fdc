"""Accelerators of this machine, leased to one job at a time.

Every private Ray head offers what it is shown and begins with the first: cells side by side would
all train on accelerator 0. A lease is a lock of the kernel's on a file named by the accelerator. It
ends with the processes that hold it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.locks import locked

VISIBLE = "CUDA_VISIBLE_DEVICES"
_QUERY = ("nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader")
_WAIT_SECONDS, _SAY_SECONDS = 2.0, 60.0


@dataclass(frozen=True)
class Leased:
    """Accelerators that nobody else on this machine is given.

    Attributes:
        devices: As CUDA names them.
        places: Where they stand among those that this process sees.
        handles: The open lock files; a child that inherits them holds the lease too.
    """

    devices: tuple[str, ...]
    places: tuple[int, ...]
    handles: tuple[int, ...]

    @property
    def variables(self) -> dict[str, str]:
        """What shows a process these and no others; nothing on a machine without any."""
        return {VISIBLE: ",".join(self.devices)} if self.devices else {}


def visible(environment: Mapping[str, str]) -> dict[str, str]:
    """The accelerators that an environment shows, by CUDA's name, each with one for all."""
    try:
        listed = subprocess.run(_QUERY, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    pairs = [line.split(",") for line in listed.splitlines()]
    names = {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}
    if VISIBLE not in environment:
        return names
    shown = [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
    return {name: names.get(name, name) for name in shown}


@contextmanager
def leased(
    least: int,
    most: int,
    environment: Mapping[str, str],
    say: Callable[[str], None],
) -> Iterator[Leased]:
    """Hold some accelerators of this machine; wait for others to end while too few are free.

    Args:
        least: How many are needed. A machine that has fewer gives all that it has.
        most: How many may be taken.
        environment: Says which there are.
        say: Called with what is waited for.
    """
    names = visible(environment)
    folder = Path(tempfile.gettempdir()) / f"tomrl-gpus-{os.getuid()}"
    said = -_SAY_SECONDS
    while True:
        with ExitStack() as held:
            found: dict[str, int] = {}
            for device, name in names.items():
                if len(found) == most:
                    break
                try:
                    handle = held.enter_context(locked(folder / f"{name}.lock", patience=0))
                except BlockingIOError:
                    continue
                found[device] = handle
            if len(found) >= min(least, len(names)):
                places = map(list(names).index, found)
                yield Leased(tuple(found), tuple(places), tuple(found.values()))
                return
        if time.monotonic() - said > _SAY_SECONDS:
            say(f"waiting for {least} free GPUs of this machine, {len(found)} of {len(names)} now")
            said = time.monotonic()
        time.sleep(_WAIT_SECONDS)
