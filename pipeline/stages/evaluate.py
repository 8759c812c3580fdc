"""Stage ``evaluate@cell``: every column of the suite, graded by the rewards' own grader."""

from __future__ import annotations

from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell, TrainedCell
from pipeline.data.codec import read_column
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.along import asked_along, known, noted
from pipeline.evaluate.engine import Engine
from pipeline.evaluate.records import AskedStep
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.tried import Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.model.manifest import Manifest
from pipeline.stages.common import CellStage, Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.prompts import frame_of
from pipeline.stages.scoring import ModelRun, engine_of_weights, score_cell, work_of


def main(stage: Stage, key: str) -> None:
    """Evaluate one cell."""
    own = stage.of(key)
    target = own.results / "tried.json"

    def then(engine: Engine, ran: ModelRun) -> list[AskedStep]:
        tried(own, engine, ran).write(target)
        return along(own, ran)

    found = score_cell(own, asked(stage, key), then)
    if found.absent is not None:
        Tried(untried=found.absent).write(target)


def tried(own: CellStage, engine: Engine, ran: ModelRun) -> Tried:
    """Have the model of a cell go on from edited reasoning of its own, if the study asks for it."""
    cell = own.stage.params.cell(own.key)
    if not cell.evaluate.tried:
        return Tried(untried="the study does not ask for it")
    if isinstance(cell, ApiCell):
        return Tried(untried=f"the engine {engine.name} cannot go on from a beginning")
    suite, graded = ran.asked[0], ran.graded[0]  # in a side-check nobody believes anything
    planned = plan(suite.columns, graded[:: suite.asking.samples], cell.evaluate.tried)
    if not planned:
        return Tried(untried="no reasoning can be edited such that another answer follows")
    with ProgressReport(f"{own.title}: edited reasoning", len(planned)) as progress:
        found = attempt(engine, planned, suite.asking, seed=cell.seed, report=progress.at)
    return Tried(attempts=found)


def along(own: CellStage, ran: ModelRun) -> list[AskedStep]:
    """Ask some questions of every step whose weights were kept, if the study asks for it."""
    stage, weights = own.stage, own.weights
    cell = stage.params.cell(own.key)
    if not isinstance(cell, TrainedCell) or cell.evaluate.at == "used":
        return []
    manifest = Manifest.read_of(own.checkpoints, cell.model, weights.made_by)
    suite, found = ran.asked[0], []
    some = asked_along(suite, cell.evaluate.each_step)
    for model in manifest.kept:
        if model.digest == manifest.used.digest:
            right = known(suite, some, ran.graded[0])
        else:
            folder, work = weights.get(model.digest), work_of(own, cell)
            engine = engine_of_weights(stage, cell, folder, work)
            with ProgressReport(f"{own.title}: step {model.step}", len(some.names)) as shown:
                (graded,) = evaluate(engine, [some], seed=cell.seed, report=shown.at)
            right = [each.grade.correct for each in graded]
        found.append(noted(model.step, suite, some, right))
    return found


def asked(stage: Stage, key: str) -> list[Asked]:
    """What a cell is asked, and how: the tasks of the suite first, then each side-check."""
    settings, suite = stage.params.cell(key).evaluate, stage.params.suite
    columns = {
        name: read_column(stage.data / "suite" / f"{name}.parquet", column.task)
        for name, column in suite.columns.items()
    }
    sampling = Sampling(settings.max_new_tokens, settings.temperature, settings.top_p)
    frame = frame_of(stage, settings.prompt)
    asking = Asking(settings.prompt, sampling, frame, settings.think, settings.samples)
    checks = [
        Asked(
            {name: columns[name]},
            Asking(check.prompt, Sampling(check.max_new_tokens, temperature=0)),
        )
        for name, check in suite.side_checks.items()
    ]
    return [Asked({name: columns[name] for name in suite.tasks}, asking), *checks]


if __name__ == "__main__":
    run("evaluate", main, of_cell)
