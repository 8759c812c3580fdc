"""Where things lie in a job's state folder, which outlives the job's attempts.

An attempt writes in a folder of its own, ``attempts/NAME``, named by its lease. The next one takes
over by renaming that folder: whatever an attempt that was thought dead still writes by its old path
lies where nobody looks.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline.cluster.lease import Lease

PROBE = "probe.json"
"""Above the checkpoints: the completions to score. In a checkpoint: their log-probabilities."""


@dataclass(frozen=True)
class State:
    """The state folder of a job, as one attempt sees it.

    Attributes:
        root: The folder; every node of the cluster sees it under the same path.
        attempt: Name of the attempt.
    """

    root: Path
    attempt: str

    @classmethod
    def of_checkpoint(cls, folder: Path) -> State:
        """Return the state that one of verl's checkpoints belongs to."""
        own = folder.parent.parent
        return cls(own.parent.parent, own.name)

    @property
    def lease(self) -> Lease:
        """Return the lease of the attempt."""
        return Lease.named(lease_folder(self.root), self.attempt)

    @property
    def folder(self) -> Path:
        """Return the attempt's own folder."""
        return attempts_folder(self.root) / self.attempt

    @property
    def checkpoints(self) -> Path:
        """Return the folder of verl's ``global_step_N``."""
        return self.folder / "checkpoints"

    @property
    def tokenizer(self) -> Path:
        """Return the folder of the tokenizer that verl shows prompts with."""
        return self.folder / "tokenizer"

    @property
    def validation(self) -> Path:
        """Return the folder of verl's validation responses."""
        return self.folder / "validation"

    @property
    def log(self) -> Path:
        """Return what verl's file logger writes; each attempt begins it anew."""
        return self.folder / "verl.jsonl"

    @property
    def steps(self) -> Path:
        """Return the journal of finished steps, of all attempts."""
        return self.folder / "steps.jsonl"

    @property
    def result(self) -> Path:
        """Return the file that names the result once everything is done."""
        return self.root / "result.json"

    def step(self, step: int) -> Path:
        """Return verl's checkpoint after a step."""
        return self.checkpoints / f"global_step_{step}"

    def take_over(self) -> None:
        """Take what the last attempt left; what earlier ones wrote after they ended is removed."""
        earlier = _earlier(self.root, self.attempt)
        if earlier:
            earlier.pop().rename(self.folder)
        else:
            self.folder.mkdir(parents=True)
        for stray in earlier:
            shutil.rmtree(stray, ignore_errors=True)  # its writer may be at work yet


def lease_folder(root: Path) -> Path:
    """Return the folder of the attempts' leases."""
    return root / "lease"


def last_number(root: Path) -> int:
    """Return the number of the last attempt that left something; 0 if none did."""
    numbers = [int(path.name.partition("-")[0]) for path in attempts_folder(root).glob("*-*")]
    return max(numbers, default=0)


def attempts_folder(root: Path) -> Path:
    """Return the folder of the attempts' own folders."""
    return root / "attempts"


def _earlier(root: Path, attempt: str) -> list[Path]:
    return sorted(path for path in attempts_folder(root).glob("*-*") if path.name < attempt)
