"""Kills a study again and again at random moments, and holds it against an undisturbed run.

``python -m tests.chaos.driver --kills 200`` prints the figures. What is killed is drawn: the whole
process group, as by a machine that goes down; the stage alone; DVC alone; or, where the study runs
as a flow, the flow alone.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from tests.alive import alive, until
from tests.chaos.study import Outcome, altered, leftovers, prepare, results
from tests.conftest import environment

DOORS = {
    "repro": ("dvc", "repro"),
    "flow": ("tomrl", "run"),
    "sweep": ("tomrl", "sweep", "--study", "mini", "--concurrency", "2"),
}
VICTIMS = {"repro": ("group", "stage", "dvc"), "flow": ("group", "stage", "dvc", "flow")}
_MEAN_SECONDS = {"repro": 6.0, "flow": 14.0}  # between two kills
_CUT_OFF = {
    "Unable to read RWLock-file": ".dvc/tmp/rwlock",
    "'./dvc.lock' validation failed": "dvc.lock",
    "'./dvc.lock' is invalid": "dvc.lock",
}
_HANGS_AFTER = 600.0  # seconds without an end of an undisturbed start
_ORPHAN_AFTER = 30.0  # seconds after a kill


@dataclass
class Tally:
    """What happened: kills by victim, and faults by kind with what they hit.

    ``mended`` counts how often DVC was killed while it rewrote a file of its own in place. It names
    that file and refuses to run until the file is removed, which ``tomrl run`` does by itself.
    """

    kills: Counter[str] = field(default_factory=Counter)
    studies: int = 0
    mended: int = 0
    faults: dict[str, list[str]] = field(
        default_factory=lambda: {
            kind: []
            for kind in ("lost", "doubled", "different", "hung", "orphans", "left over", "failed")
        }
    )

    @property
    def is_clean(self) -> bool:
        """Whether there was no fault."""
        return not any(self.faults.values())

    def __str__(self) -> str:
        victims = ", ".join(f"{count} {name}" for name, count in sorted(self.kills.items()))
        faults = ", ".join(f"{len(found)} {kind}" for kind, found in self.faults.items())
        details = [f"  {kind}: {what}" for kind, found in self.faults.items() for what in found]
        head = f"{self.kills.total()} kills ({victims}) over {self.studies} studies: {faults}"
        if self.mended:
            head += f"; {self.mended} times a file of DVC's own was cut off"
        return "\n".join([head, *details])


@dataclass
class Victim:
    """A study under way, the only one in the folder of its checkout.

    Attributes:
        checkout: Where it runs.
        door: How it is started, see :data:`DOORS`.
        variables: What it finds in its environment besides.
    """

    checkout: Path
    door: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it in a process group of its own."""
        self.log = self.checkout.parent / f"{time.monotonic_ns()}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                DOORS[self.door],
                cwd=self.checkout,
                env={**environment(self.checkout.parent), **self.variables},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """What it has printed, or nothing if it was killed."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def ended(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self, victim: str) -> bool:
        """Kill a part of it; return False if the part was not there."""
        try:
            if victim == "group":
                os.killpg(self.process.pid, signal.SIGKILL)
                for child in self._alive():  # the flow puts DVC into a group of its own
                    child.kill()
            elif victim == "flow":
                self.process.kill()
            elif victim == "cell":
                os.killpg(self._find("dvc").pid, signal.SIGKILL)
            else:
                self._find("pipeline.stages." if victim == "stage" else "dvc").kill()
        except (psutil.NoSuchProcess, ProcessLookupError, StopIteration):
            return False
        return True

    def _find(self, word: str) -> psutil.Process:
        return next(p for p in self._alive() if any(word in part for part in _words(p)[:5]))

    def _alive(self) -> list[psutil.Process]:
        """All of its processes."""
        return alive(self.checkout.parent)

    def survivors(self, seconds: float) -> list[str]:
        """What still lives after some seconds, and end it."""
        until(lambda: not self._alive(), seconds)
        left = self._alive()
        names = [" ".join(_words(process))[:120] for process in left]
        for process in left:
            process.kill()
        return names


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def disturb(checkout: Path, whole: Outcome, random: Random, kills: int, tally: Tally) -> None:
    """Run a study to its end with at most ``kills`` kills on the way; note every fault."""
    left, done, tally.studies = kills, False, tally.studies + 1
    while not done:
        doors = ["flow", "repro"] if kills > 1 else ["repro"]
        victim = Victim(checkout, random.choices(doors, weights=[1, 4][: len(doors)])[0])
        victim.start()
        if left and _strike(victim, random, tally):
            left -= 1
        if not victim.ended(_HANGS_AFTER):
            tally.faults["hung"].append(" ".join(DOORS[victim.door]))
            victim.kill("group")
        status = victim.process.wait()
        tally.faults["orphans"] += victim.survivors(_ORPHAN_AFTER)
        tally.faults["different"] += altered(whole.found, results(checkout))
        done = status == 0
        named = [name for text, name in _CUT_OFF.items() if text in victim.said()]
        if not done and victim.door == "repro" and named:
            tally.mended += 1
            (checkout / named[0]).unlink()
            continue
        if not done and not left and not _was_struck(victim):
            tally.faults["failed"].append(victim.said()[-2000:])
            return
    for kind, found in whole.differences(Outcome.of(checkout)).items():
        tally.faults[kind] += found
    tally.faults["left over"] += leftovers(checkout)


def _strike(victim: Victim, random: Random, tally: Tally) -> bool:
    """Wait for a random moment and kill a random part; return whether it was killed."""
    what = random.choice(VICTIMS[victim.door])
    if victim.ended(0.3 + random.expovariate(1 / _MEAN_SECONDS[victim.door])):
        return False
    struck = victim.kill(what)
    while not struck and victim.process.poll() is None:  # DVC is between two stages
        time.sleep(0.05)
        struck = victim.kill(what)
    if struck:
        tally.kills[what] += 1
        victim.log.rename(victim.log.with_suffix(".killed"))
    return struck


def _was_struck(victim: Victim) -> bool:
    return not victim.log.exists()


def undisturbed(checkout: Path) -> Outcome:
    """Run a study to its end and return what it leaves."""
    victim = Victim(checkout, "repro")
    victim.start()
    status = victim.process.wait(_HANGS_AFTER)
    assert status == 0, victim.log.read_text()
    return Outcome.of(checkout)


def run(folder: Path, kills: int, each: int, seed: int) -> Iterator[Tally]:
    """Disturb one study after the other until there were so many kills; yield the tally so far.

    Args:
        folder: Receives the checkouts.
        kills: In all.
        each: At most for one study.
        seed: Decides who is killed when.
    """
    random, tally = Random(seed), Tally()
    whole = undisturbed(prepare(folder / "undisturbed" / "a checkout"))
    while tally.kills.total() < kills:
        checkout = prepare(folder / f"study {tally.studies}" / "a checkout")
        disturb(checkout, whole, random, min(each, kills - tally.kills.total()), tally)
        yield tally


def main() -> None:
    """Print the figures of many kills; exit 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.driver", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--each", type=int, default=12, help="at most for one study")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        for tally in run(Path(folder), options.kills, options.each, options.seed):
            print(tally, flush=True)
    sys.exit(not tally.is_clean)


if __name__ == "__main__":
    main()
