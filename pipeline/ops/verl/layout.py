"""Where things lie in the state folder of a job of verl (:mod:`pipeline.ops.cluster.attempts`)."""

from __future__ import annotations

from pathlib import Path

from pipeline.formats.files import write_json
from pipeline.ops.cluster.attempts import JobAttempt

PROBE = "probe.json"
"""Above the checkpoints: the completions to score. In a checkpoint: what they scored."""
UNLOGGED = "step.json"
"""In a checkpoint: the figures of its step, which is logged only once it is whole."""
ARRIVES = "arrives-"
"""Begins the name of an empty file in a checkpoint, one of each rank whose part is on its way."""

LAST_STEP, RANK_MODULES = "TOMRL_LAST_STEP", "TOMRL_RANK_MODULES"
"""Variables: the step after which verl ends; what each rank imports, between commas."""


class State(JobAttempt):
    """The state folder of a job, as one attempt sees it."""

    @classmethod
    def of_checkpoint(cls, folder: Path) -> State:
        """The state that one of verl's checkpoints belongs to."""
        own = folder.parent.parent
        return cls(own.parent.parent, own.name)

    @classmethod
    def complete(cls, checkpoint: Path, **said: object) -> None:
        """Write into a checkpoint what verifies it, after everything else is there.

        Args:
            checkpoint: The checkpoint.
            **said: What the trainer said of the completions above the checkpoints: ``logprobs``,
                or of imitation their mean, ``loss``.

        Raises:
            Overtaken: If another attempt has taken over.
        """
        cls.of_checkpoint(checkpoint).check()
        write_json(checkpoint / PROBE, said)

    @property
    def checkpoints(self) -> Path:
        """The folder of verl's ``global_step_N``."""
        return self.folder / "checkpoints"

    @property
    def tokenizer(self) -> Path:
        return self.folder / "tokenizer"

    @property
    def log(self) -> Path:
        """What verl's file logger writes; each attempt begins it anew."""
        return self.folder / "verl.jsonl"

    @property
    def steps(self) -> Path:
        return self.folder / "steps.jsonl"

    @property
    def kept(self) -> Path:
        """The digest of the model of each step that is kept, where all are asked for."""
        return self.folder / "kept.json"

    def step(self, step: int) -> Path:
        return self.checkpoints / f"global_step_{step}"
