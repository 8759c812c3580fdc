"""Locks that die with their process, on files that go with them.

The library ``filelock`` leaves its files behind, and hides the open file: here it holds a note
about the owner, and a child that inherits it keeps the lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.base.folders import folder_of

_SECONDS_BETWEEN_TRIES = 0.05


@contextmanager
def locked(path: Path, patience: float = float("inf")) -> Iterator[int]:
    """Hold the lock file ``path``; yield it, open, for a note about the owner.

    The lock is the kernel's (``flock``): it ends with the process, even by SIGKILL, and is visible
    on this machine, and on others through file systems such as NFS 4.

    Args:
        patience: Seconds to wait for another holder.

    Raises:
        BlockingIOError: If another process still holds it then.
    """
    with folder_of(path):
        handle = _acquired(path, time.monotonic() + patience)
        try:
            yield handle
        finally:
            path.unlink(missing_ok=True)  # while it is held: nobody can have a new one of this name
            os.close(handle)


def _acquired(path: Path, deadline: float) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)  # by the umask
        except FileNotFoundError:
            continue  # who held it before has removed the folder with it
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, path):
                return handle
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(handle)
                raise
            time.sleep(_SECONDS_BETWEEN_TRIES)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """An open file still has this name: its last holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
