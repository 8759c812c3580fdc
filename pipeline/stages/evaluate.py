"""Stage ``evaluate@cell``: every column of the suite, graded by the rewards' own grader."""

from __future__ import annotations

from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell
from pipeline.data.codec import read_column
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Engine
from pipeline.evaluate.runner import Asked, Asking
from pipeline.evaluate.tried import Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.prompts import frame_of
from pipeline.stages.scoring import ModelRun, score_cell


def main(stage: Stage, key: str) -> None:
    """Evaluate one cell."""
    target = stage.runs / key / stage.name / "tried.json"

    def then(engine: Engine, ran: ModelRun) -> None:
        tried(stage, key, engine, ran).write(target)

    found = score_cell(stage, key, asked(stage, key), then)
    if found.absent is not None:
        Tried(untried=found.absent).write(target)


def tried(stage: Stage, key: str, engine: Engine, ran: ModelRun) -> Tried:
    """Have the model of a cell go on from edited reasoning of its own, if the study asks for it."""
    cell = stage.params.cell(key)
    if not cell.evaluate.tried:
        return Tried(untried="the study does not ask for it")
    if isinstance(cell, ApiCell):
        return Tried(untried=f"the engine {engine.name} cannot go on from a beginning")
    suite, graded = ran.asked[0], ran.graded[0]  # in a side-check nobody believes anything
    planned = plan(suite.columns, graded[:: suite.asking.samples], cell.evaluate.tried)
    if not planned:
        return Tried(untried="no reasoning is a recount that implies an answer")
    with ProgressReport(f"{stage.name} {key}: edited reasoning", len(planned)) as progress:
        found = attempt(engine, planned, suite.asking, seed=cell.seed, report=progress.at)
    return Tried(attempts=found)


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
