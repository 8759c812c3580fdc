"""Where things lie in a job's state folder, which outlives the job's attempts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROBE = "probe.json"
"""Above the checkpoints: the completions to score. In a checkpoint: their log-probabilities."""


@dataclass(frozen=True)
class State:
    """The state folder of a job.

    Attributes:
        root: The folder; every node of the cluster sees it under the same path.
    """

    root: Path

    @property
    def checkpoints(self) -> Path:
        """Return the folder of verl's ``global_step_N``."""
        return self.root / "checkpoints"

    @property
    def tokenizer(self) -> Path:
        """Return the folder of the tokenizer that verl shows prompts with."""
        return self.root / "tokenizer"

    @property
    def log(self) -> Path:
        """Return what verl's file logger writes; each attempt begins it anew."""
        return self.root / "verl.jsonl"

    @property
    def steps(self) -> Path:
        """Return the journal of finished steps, of all attempts."""
        return self.root / "steps.jsonl"

    @property
    def result(self) -> Path:
        """Return the file that names the result once everything is done."""
        return self.root / "result.json"

    def step(self, step: int) -> Path:
        """Return verl's checkpoint after a step."""
        return self.checkpoints / f"global_step_{step}"
