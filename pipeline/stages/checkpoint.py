"""What a checkpoint of a cell answers to the suite, asked beside the stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.params import TrainedCell
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.stages.common import Stage
from pipeline.stages.evaluate import asked
from pipeline.stages.scoring import ask_columns, engine_of_weights, work_of_weights, write_scores


def checkpoint_answers(stage: Stage, key: str, name: str) -> Path:
    """The folder of a checkpoint's answers and grades.

    The one that the cell was evaluated with is not asked again; what another one answered is kept
    in ``work/``.

    Args:
        stage: The study and its checkout.
        key: The cell.
        name: ``best``, ``last``, or the step of one of them.

    Raises:
        UserError: If the cell trains nothing, or keeps no such checkpoint.
    """
    cell, own = stage.params.trained_cell(key), stage.of(key)
    manifest = Manifest.read_of(own.checkpoints, cell.model, own.weights.made_by)
    stored = checkpoint_named(manifest, key, name)
    evaluated = stage.runs / key / "evaluate"
    if stored.digest == manifest.used.digest and (evaluated / "grades.parquet").is_file():
        return evaluated
    return _ask(stage, key, cell, own.weights.get(stored.digest), stored)


def checkpoint_named(manifest: Manifest, key: str, name: str) -> StoredModel:
    """The checkpoint of a cell that is called ``best``, ``last``, or by its step.

    Raises:
        UserError: If the cell keeps no such checkpoint; lists those it keeps.
    """
    for role, stored in manifest.checkpoints.items():
        if name in (role, str(stored.step)):
            return stored
    kept = ", ".join(f"{role} (step {found.step})" for role, found in manifest.checkpoints.items())
    raise UserError(f"{key}@{name}: the cell keeps no such checkpoint; it keeps: {kept}")


def _ask(stage: Stage, key: str, cell: TrainedCell, model: Path, stored: StoredModel) -> Path:
    work = work_of_weights(replace(stage, name="checkpoint"), cell, stored.digest)
    questions = asked(stage, cell)
    engine = engine_of_weights(stage, cell, model, work)
    ran = ask_columns(engine, cell, questions, f"{key} at step {stored.step}")
    folder = work / "answers"
    write_scores(folder, cell, ran)
    return folder
