"""What the stage ``train`` asks of a training backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pipeline.train.collapse import Collapse


@dataclass(frozen=True)
class Step:
    """A finished step.

    Attributes:
        step: Its number; 0 is the base model.
        metrics: Figures that are the same in every run.
        timing: Seconds and bytes.
        at: When it ended, in seconds since 1970.
        collapse: Set at the one step at which the collapse alarm fires.
    """

    step: int
    metrics: dict[str, Any]
    timing: dict[str, float]
    at: float
    collapse: Collapse | None = None


@dataclass(frozen=True)
class Trained:
    """What came of a training run.

    Attributes:
        metrics: Rows of ``metrics.jsonl``.
        timing: Rows of ``timing.jsonl``.
        checkpoints: Entries of the manifest, ``best`` and ``last``.
        collapse: The collapse of the reasoning, if there was one.
    """

    metrics: list[dict[str, Any]]
    timing: list[dict[str, Any]]
    checkpoints: dict[str, dict[str, Any]]
    collapse: Collapse | None = None


class Training(Protocol):
    """A prepared training run: its inputs were read and found to fit together.

    Attributes:
        total: Planned steps.
        skipped: Training prompts that were too long.
        made_from: Everything that its result depends on.
        work: Folder of its resumable state, named by the digest of ``made_from``.
    """

    total: int
    skipped: int
    made_from: dict[str, Any]
    work: Path

    def run(self, report: Callable[[Step], None]) -> Trained:
        """Train to the end, telling of every step.

        Raises:
            KeyboardInterrupt: If it was asked to stop; running again goes on from there.
            UserError: If something fails that its user must mend.
        """


def say_skipped(key: str, training: int, validation: int, limit: int) -> None:
    """Tell of prompts that are too long to be used."""
    if training or validation:
        print(
            f"train {key}: skipped {training} training and {validation} validation "
            f"prompts longer than {limit} tokens"
        )
