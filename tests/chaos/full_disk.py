"""Fills the disk under every stage, and makes folders read-only: what was good stays good.

``python -m tests.chaos.full_disk`` runs each stage on a small file system of its own that has room
for nothing, or for a part of what the stage writes; then it makes room and runs the stage again.
Where no file system may be mounted, a limit on the size of files stands in for it.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from tests.chaos.operations import Chain, chain_in, copy_checkout, run_stage
from tests.chaos.study import Outcome, altered, leftovers, results

_ROOM = (0, 12, 100)  # KiB beyond what is there
_PLENTY = 200_000  # KiB
_STOPPED = 1  # exit status of a stage that cannot write

Trial = Callable[[Chain], Iterator[str]]
"""Tries one thing on a chain and yields what is wrong."""


def may_mount() -> bool:
    """Whether this process may mount file systems."""
    with tempfile.TemporaryDirectory() as folder:
        if _mount(Path(folder), 64):
            _unmount(Path(folder))
            return True
    return False


def _mount(folder: Path, kibibytes: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _remount(folder: Path, options: str) -> None:
    command = ["mount", "-o", f"remount,{options}", str(folder)]
    subprocess.run(command, capture_output=True, check=True)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)


@contextmanager
def _disk(folder: Path) -> Iterator[Path]:
    """Give a folder with a file system of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    assert _mount(folder, _PLENTY)
    try:
        yield folder
    finally:
        _unmount(folder)


def _used(folder: Path) -> int:
    """How many KiB a file system holds."""
    return shutil.disk_usage(folder).used // 1024


def mounted(chain: Chain, stage: str, room: int | None) -> Iterator[str]:
    """Run a stage on a disk with little room, then with plenty; yield what is wrong.

    Without a number of KiB, the disk can first not be written to, then it can.
    """
    with _disk(chain.folder / "disk") as disk:
        trial = copy_checkout(chain.before(stage), disk / "a checkout")
        _remount(disk, "ro" if room is None else f"size={_used(disk) + room}k")
        yield from _refused(chain, stage, trial)
        _remount(disk, f"rw,size={_PLENTY}k")
        yield from _mended(chain, stage, trial)


def limited(chain: Chain, stage: str, room: int) -> Iterator[str]:
    """Run a stage that may write only short files, then without a limit."""
    trial = chain.folder / "limited" / "a checkout"
    shutil.rmtree(trial.parent, ignore_errors=True)
    copy_checkout(chain.before(stage), trial)
    size = 1024 * room
    yield from _refused(
        chain, stage, trial, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    )
    yield from _mended(chain, stage, trial)


def _refused(
    chain: Chain, stage: str, trial: Path, handicap: Callable[[], None] = lambda: None
) -> Iterator[str]:
    before = results(chain.before(stage)) | results(chain.after(stage))
    ran = run_stage(trial, stage, chain.folder / "logs", handicap=handicap)
    if ran.status not in (0, _STOPPED):
        yield f"it ended with status {ran.status}: {ran.said[-600:]}"
    if "Traceback" in ran.said:
        yield f"a traceback: {ran.said[-600:]}"
    if ran.status == _STOPPED and ran.said.count("error: ") != 1:
        yield f"not one message: {ran.said[-600:]}"
    yield from (f"half-written: {name}" for name in altered(before, results(trial)))


def _mended(chain: Chain, stage: str, trial: Path) -> Iterator[str]:
    ran = run_stage(trial, stage, chain.folder / "logs")
    if ran.status:
        yield f"it failed afterwards: {ran.said[-600:]}"
        return
    differences = Outcome.of(chain.after(stage)).differences(Outcome.of(trial))
    yield from (f"{kind}: {names}" for kind, names in differences.items() if names)
    yield from (f"left over: {name}" for name in leftovers(trial))


def _trials(stages: Sequence[str]) -> Iterator[tuple[str, Trial]]:
    """Yield every stage with every disk, by a name."""
    mounts = may_mount()
    if not mounts:
        print("no file system may be mounted here: a limit on the size of files stands in for it")
    for stage in stages:
        for room in _ROOM:
            try_with = mounted if mounts else limited
            yield f"{stage} with {room} KiB of room", partial(try_with, stage=stage, room=room)
        if mounts:
            yield f"{stage}, read-only", partial(mounted, stage=stage, room=None)


def main() -> None:
    """Print the figures; exit 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.full_disk", description=__doc__)
    parser.add_argument("--sample", type=int, help="so many of them only, drawn")
    parser.add_argument("--chain", type=Path, help="folder with the study, made if it is missing")
    options = parser.parse_args()
    bad = 0
    with chain_in(options.chain) as chain:
        trials = list(_trials(chain.stages))
        if options.sample:
            trials = Random(0).sample(trials, options.sample)
        for name, try_on in trials:
            found = list(try_on(chain))
            bad += bool(found)
            for fault in found:
                print(f"{name}: {fault}", flush=True)
    print(f"{len(trials)} stages without room or without permission: {bad} with a fault")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
