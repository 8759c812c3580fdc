"""A search for stories that a cell gets wrong, beside the stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell
from pipeline.config.sources import HiTomSource
from pipeline.evaluate.attack import TASK, Attacked, attack
from pipeline.evaluate.engine import TOO_LONG
from pipeline.evaluate.runner import Asked, evaluate
from pipeline.model.manifest import resolve
from pipeline.stages.common import Stage
from pipeline.stages.evaluate import asked, programmed
from pipeline.stages.scoring import engine_of, engine_of_weights, work_of_weights
from pipeline.tasks.example import Example


def attack_cell(stage: Stage, key: str, wanted: int, budget: int, seed: int) -> Attacked:
    """Search with a cell's model, prompt and program; what was answered is kept in ``work/``.

    Args:
        stage: The study and its checkout.
        key: The cell.
        wanted: Questions to find.
        budget: Questions that may be asked.
        seed: Of the search.

    Raises:
        UserError: If there is no such cell, or it has no weights yet.
    """
    own = replace(stage, name="evaluate").of(key)
    cell = own.cell
    if isinstance(cell, ApiCell):
        engine = engine_of(own)
    else:
        model = resolve(own.checkpoints, own.weights, cell.model)
        work = work_of_weights(replace(stage, name="attack"), cell, key)
        engine = engine_of_weights(stage, cell, model, work)
    asking = programmed(own, engine, asked(stage, cell))[0].asking
    asking = replace(asking, samples=1)

    def target(examples: Sequence[Example]) -> list[tuple[bool, str | None]]:
        (graded,) = evaluate(engine, [Asked({TASK: examples}, asking)], seed=cell.seed)
        no_room = TOO_LONG.finish_reason  # what the model was never asked it does not get wrong
        return [
            (each.grade.correct or each.response.finish_reason == no_room, each.grade.extracted)
            for each in graded
        ]

    with ProgressReport(f"attack {key}", budget, beside=True) as progress:
        return attack(target, source_of(stage), wanted, budget, seed, progress.at)


def source_of(stage: Stage) -> HiTomSource:
    """How the stories of a study are told, in scenes of free structure."""
    found = (each for each in stage.params.acquire.values() if isinstance(each, HiTomSource))
    told = next(found, HiTomSource(kind="hi_tom_style", agents=3))
    return told.model_copy(update={"structure": "free", "chapters": (1,)})
