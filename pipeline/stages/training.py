"""What the stage ``train`` asks of a training backend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from pydantic import Field

from pipeline.base.plugins import BACKENDS
from pipeline.config.algorithms import Sft
from pipeline.config.params import Cell, TrainedCell
from pipeline.formats.provenance import Libraries
from pipeline.formats.records import Record
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.stages.common import CellStage, Stage
from pipeline.train.contract import History, Outcome
from pipeline.train.data import CellRows

Settings = dict[str, object]
"""Settings by name, as JSON has them."""


class Training(Protocol):
    """A prepared training run: its inputs were read and found to fit together.

    Attributes:
        total: Planned steps.
        skipped: Training prompts that were too long, or had nothing to imitate.
        made_from: Everything that its result depends on.
        work: Folder of its resumable state, named by the digest of ``made_from``.
        lengthens: Whether a longer run goes on from there: ``made_from`` leaves its length out.
    """

    total: int
    skipped: int
    made_from: Settings
    work: Path
    lengthens: bool

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train to the end, telling of every step with the history up to it.

        Raises:
            KeyboardInterrupt: If it was asked to stop; running again goes on from there.
            UserError: If something fails that its user must fix.
        """


class Started(StoredModel):
    """The weights that a chained cell started from.

    Attributes:
        cell: Key of the cell that left them.
    """

    cell: str


class TrainingConfig(Record):
    """``config.json``: what a cell was trained with.

    Attributes:
        cell: Its parameters.
        libraries: Versions of what computed it; none where nothing was trained.
        start: The weights of another cell that it started from; None for those of the base model.
    """

    cell: Cell
    libraries: Libraries
    start: Started | None = Field(default=None, exclude_if=lambda start: start is None)


def start_of(stage: Stage, cell: TrainedCell) -> Started | None:
    """The weights of another cell that a cell starts from; None for those of the base model.

    Raises:
        UserError: If the record of that cell is missing or damaged.
    """
    if cell.starts_from is None:
        return None
    made_by = stage.start_of(cell).made_by
    used = Manifest.read_of(stage.root / cell.base, cell.model, made_by).used
    return Started(cell=cell.starts_from, **used.model_dump())


def prepare(own: CellStage, cell: TrainedCell) -> Training:
    """The training run of a cell, by its backend."""
    make = cast(Callable[[CellStage, TrainedCell], Training], BACKENDS[cell.train.backend].load())
    return make(own, cell)


def say_left_out(key: str, found: CellRows, cell: TrainedCell) -> None:
    """Tell of prompts that are too long to be used, or have nothing to imitate."""
    training, validation = found.read.skipped, found.validation.skipped
    if training or validation:
        print(
            f"train {key}: skipped {training} training and {validation} validation "
            f"prompts longer than {cell.train.max_prompt_tokens} tokens"
        )
    if isinstance(cell.algorithm, Sft) and found.train != found.read:
        missing = len(found.read.rows) - len(found.train.rows)
        print(
            f"train {key}: left out {missing} of {len(found.read.rows)} training prompts, for "
            f"which there are no {cell.algorithm.imitates} to imitate"
        )
