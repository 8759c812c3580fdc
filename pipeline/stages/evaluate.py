"""Stage ``evaluate@cell``: every task of the suite, graded by the rewards' own grader."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell
from pipeline.data.codec import read_column
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Ahead, Engine
from pipeline.evaluate.runner import Asking, prompts_of
from pipeline.evaluate.tried import Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.prompts import frame_of
from pipeline.stages.scoring import Ran, score_cell, work_of
from pipeline.tasks.example import Example


def main(stage: Stage, key: str) -> None:
    """Evaluate one cell."""
    target = stage.runs / key / stage.name / "tried.json"

    def then(engine: Engine, ran: Ran) -> None:
        tried(stage, key, engine, ran).write(target)

    found = score_cell(stage, key, *asked(stage, key), ahead=side_check(stage, key), then=then)
    if found.absent is not None:
        Tried(untried=found.absent).write(target)


def tried(stage: Stage, key: str, engine: Engine, ran: Ran) -> Tried:
    """Have the model of a cell go on from edited reasoning of its own, if the study asks for it."""
    cell = stage.params.cell(key)
    if not cell.evaluate.tried:
        return Tried(untried="the study does not ask for it")
    if isinstance(cell, ApiCell):
        return Tried(untried=f"the engine {engine.name} cannot go on from a beginning")
    first = ran.graded[:: ran.asking.samples]
    planned = plan(ran.columns, first, cell.evaluate.tried)
    if not planned:
        return Tried(untried="no reasoning is a recount that implies an answer")
    with ProgressReport(f"{stage.name} {key}: edited reasoning", len(planned)) as progress:
        found = attempt(engine, planned, ran.asking, seed=cell.seed, report=progress.at)
    return Tried(attempts=found)


def asked(stage: Stage, key: str) -> tuple[dict[str, list[Example]], Asking]:
    """Return what a cell is asked, by column, and how."""
    settings = stage.params.cell(key).evaluate
    columns = {
        name: read_column(stage.data / "suite" / f"{name}.parquet", column.task)
        for name, column in stage.params.suite.tasks.items()
    }
    sampling = Sampling(settings.max_new_tokens, settings.temperature, settings.top_p)
    frame = frame_of(stage, settings.prompt)
    asking = Asking(settings.prompt, sampling, frame, settings.think, settings.samples)
    return columns, asking


def side_check(stage: Stage, key: str) -> list[Ahead]:
    """Return what the stage ``gsm8k`` will ask the model that is loaded here; nothing if it has.

    Its answers are not of this stage's results: they lie in the folder of what that stage has not
    finished, and it asks for itself what is missing there.
    """
    cell, check = stage.params.cell(key), replace(stage, name="gsm8k")
    if isinstance(cell, ApiCell) or (check.runs / key / check.name / "metrics.json").exists():
        return []
    # By name, as nothing of it can shape what this stage makes.
    module = import_module(f"pipeline.stages.{check.name}")
    try:
        columns, asking = module.asked(check, key)
    except UserError:
        return []  # that stage says what is wrong
    examples = [example for column in columns.values() for example in column]
    prompts = prompts_of(examples, asking, seed=cell.seed)
    return [Ahead(prompts, asking.sampling, work_of(check, key, cell))]


if __name__ == "__main__":
    run("evaluate", main, of_cell)
