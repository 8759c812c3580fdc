"""A stage of a cell as others see it while it works: its steps, its tags, and how it ended.

What shows it is loaded by name, so that a stage knows no tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, cast

from pipeline.base.plugins import FOLLOWER
from pipeline.stages.common import Stage

PATIENCE = 20.0
"""Seconds that a stage works before it is shown."""

Row = Mapping[str, object]
"""One row of ``metrics.jsonl`` or ``timing.jsonl``."""


class StageRun(Protocol):
    """What a stage tells while it works."""

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        """Show what one step measured.

        Args:
            stage: Name of the stage.
            step: Number of the step.
            values: What it measured.
            at: When, in seconds since the epoch.
            timing: What differs whenever the step is repeated.
        """

    def tags(self, values: Mapping[str, object]) -> None:
        """Show tags."""

    def look(self) -> None:
        """Show that the stage is under way."""


def followed(
    stage: Stage, key: str, patience: float = PATIENCE
) -> AbstractContextManager[StageRun]:
    """Follow a stage of a cell, which writes its results inside the block.

    Args:
        stage: The stage.
        key: The cell.
        patience: Seconds until it is shown; 0 shows it from the start.

    Raises:
        UserError: If what shows it does not answer, before anything is done.
    """
    follow = cast(Callable[[Stage, str, float], AbstractContextManager[StageRun]], FOLLOWER.load())
    return follow(stage, key, patience)
