"""The process that keeps a private Ray head and takes it down when its own parent is gone.

Run by `pipeline.ops.cluster.head` as ``python -I keeper.py FOLDER ENVIRONMENT COMMAND...`` with a
pipe as standard input that nobody writes to: its end means that the parent has closed it or died,
even by SIGKILL. ``FOLDER`` is where the head's own folder is made; ``{folder}`` in the command
stands for it. In it ``environment`` leads to ``ENVIRONMENT``: Ray starts workers by the unquoted
path of its interpreter, which must hold no space. The keeper adopts every orphan of the head
(``PR_SET_CHILD_SUBREAPER``, Linux), so that no process gets away by outliving its parent, and it
removes the folder last. The folder is also where the head and its jobs put temporary files, sockets
among them. Standard library and psutil only.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
PREFIX, LOCK = "tomrl-", "keeper.lock"
GRACE_SECONDS = 3.0


def main() -> None:
    """Keep the head until the parent is gone or the head has ended."""
    parent_folder, environment, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    remove_abandoned(Path(parent_folder))
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent_folder)
    lock = lock_folder(Path(folder))
    try:
        Path(folder, "environment").symlink_to(environment, target_is_directory=True)
        head = subprocess.Popen(
            [part.replace("{folder}", folder) for part in command],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": folder},
            preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGTERM),  # should we be killed
        )
        while not _parent_is_gone(1.0) and head.pid not in _reaped():
            pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def lock_folder(folder: Path) -> int:
    """Lock the folder for as long as this process lives: nobody takes it for abandoned."""
    new = folder / f"{LOCK}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    new.rename(folder / LOCK)
    return lock


def remove_abandoned(parent: Path) -> None:
    """Remove the folders of keepers that were killed."""
    for path in parent.glob(f"{PREFIX}*/{LOCK}"):
        try:
            with path.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
        except OSError:  # in use, or somebody else's
            continue


def _parent_is_gone(seconds: float) -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(readable)


def _reaped() -> set[int]:
    """Collect the children, own and adopted, that have ended."""
    ended: set[int] = set()
    while True:
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not number:
            return ended
        ended.add(number)


def _end_descendants() -> None:
    """Ask once, then kill until nobody is left; the head starts no new ones forever."""
    _signal_descendants(signal.SIGTERM, GRACE_SECONDS)
    while _signal_descendants(signal.SIGKILL, 0.5):
        pass


def _signal_descendants(number: signal.Signals, seconds: float) -> bool:
    """Signal all descendants, wait for them, and say whether any is left."""
    descendants = psutil.Process().children(recursive=True)
    for process in descendants:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(descendants, timeout=seconds)
    _reaped()
    return bool(psutil.Process().children(recursive=True))


if __name__ == "__main__":
    main()
