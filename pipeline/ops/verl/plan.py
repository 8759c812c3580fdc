"""What verl would do for a cell of a study, before anything is launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.config.lookup import lookup
from pipeline.config.params import Params, TrainedCell
from pipeline.data.named_tasks import row_count
from pipeline.ops.verl.attention import described
from pipeline.ops.verl.overrides import JobPaths, Overrides
from pipeline.ops.verl.placement import Placement, place
from pipeline.ops.verl.trainers import Trainer, trainer_of
from pipeline.train.shapes import shape_of

PATHS = JobPaths(
    train="train.parquet",
    validation="validation.parquet",
    model="BASE_MODEL",
    tokenizer="STATE/tokenizer",
    package="pipeline",
    checkpoints="STATE/checkpoints",
    state="STATE",
)
"""Stand-ins for the paths that are known when the job runs."""


@dataclass(frozen=True)
class Plan:
    """What verl would do for a cell.

    Attributes:
        cell: The cell.
        rows: Training prompts.
        placement: Where it trains.
        trainer: Which of verl's trainers trains it.
        overrides: verl's settings.
        attention: What they compute attention with, in words.
    """

    cell: TrainedCell
    rows: int
    placement: Placement
    trainer: Trainer
    overrides: Overrides
    attention: str


def plan_of(
    params: Params,
    key: str,
    rows: int,
    changes: Mapping[str, object] | None = None,
    *,
    flash: bool = False,
) -> Plan:
    """The plan of a cell.

    Args:
        params: The expanded study.
        key: The cell.
        rows: Training prompts.
        changes: Fields of ``train.cluster`` to set otherwise.
        flash: Whether FlashAttention is installed where it trains.

    Raises:
        UserError: If the cell trains nothing, verl cannot do what it asks for, or it does not fit.
    """
    cell = params.trained_cell(key)
    cluster = cell.train.cluster.model_copy(update=changes or {})
    recipe = cell.train.model_copy(update={"cluster": cluster})
    model = lookup(params.base, cell.model, "model").model
    placement = place(shape_of(model), recipe, cell.algorithm, cluster)
    cell = cell.model_copy(update={"train": recipe})
    trainer = trainer_of(cell.algorithm)
    overrides = trainer.overrides(cell, placement, PATHS, rows, flash)
    words = described(recipe, flash=flash)
    return Plan(cell, rows, placement, trainer, overrides, words)


def count_rows(params: Params, cell: TrainedCell, root: Path | None = None) -> int:
    """The number of training prompts: of the dataset if it is made, else as planned.

    Raises:
        UserError: If the dataset is not made and the study does not say how many there will be.
    """
    from pyarrow import parquet  # type: ignore[import-untyped]

    path = None if root is None else root / cell.inputs / "train.parquet"
    if path is not None and path.is_file():
        return int(parquet.read_metadata(path).num_rows)
    return sum(_count(part) for part in params.dataset[cell.combination].train)


def _count(part: Part) -> int:
    count = row_count(part)
    if count is None:
        raise UserError(
            f"the rows of task {part.task} are known once they are made; run: dvc repro dataset"
        )
    return count
