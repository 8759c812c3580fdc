"""Stage ``evaluate@cell``: every column of the suite, graded by the rewards' own grader."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from pipeline.base.progress import ProgressReport
from pipeline.config import programs as config
from pipeline.config.params import ApiCell, Cell, TrainedCell
from pipeline.data.codec import read_column
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.along import asked_along, known, noted
from pipeline.evaluate.engine import Engine
from pipeline.evaluate.programs import Program, best, few_shot, recursion, sim_tom, vote
from pipeline.evaluate.records import AskedStep
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.tried import Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.evaluate.verifiers import by_beliefs, learned
from pipeline.formats.files import remove
from pipeline.model.manifest import Manifest
from pipeline.stages.common import DEMONSTRATIONS, CellStage, Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.followed import PATIENCE, followed
from pipeline.stages.prompts import frame_of
from pipeline.stages.scoring import (
    ModelRun,
    absent,
    ask_columns,
    engine_of,
    engine_of_weights,
    say,
    work_of,
    write_scores,
    write_timing,
)
from pipeline.tasks.example import Example

TRIED = "tried.json"


def main(stage: Stage, key: str) -> None:
    """Evaluate one cell.

    A model that cannot be run here leaves empty files and the reason in their place; once it can be
    run, ``dvc repro --force`` on the stage runs it.
    """
    own = stage.of(key)
    cell = own.cell
    if (why := absent(own)) is not None:
        write_scores(own.results, cell, ModelRun(cell.evaluate.engine, {}), absent=why)
        Tried(untried=why).write(own.results / TRIED)
        print(f"{own.title}: absent: {why}")
        return
    # Where a large model is asked, MLflow shows it from the start.
    with followed(own, PATIENCE if cell.evaluate.engine == "hf" else 0.0):
        engine, started = engine_of(own), time.perf_counter()
        columns = programmed(own, engine, asked(stage, cell))
        ran = ask_columns(engine, cell, columns, own.title)
        tried(own, engine, ran).write(own.results / TRIED)
        steps = along(own, ran)
        write_timing(own.logs, time.perf_counter() - started)
        found = write_scores(own.results, cell, ran, along=steps)
        if not isinstance(cell, ApiCell):  # what was paid for is kept
            remove(work_of(own))
    say(own.title, found, engine)


def tried(own: CellStage, engine: Engine, ran: ModelRun) -> Tried:
    """Have the model of a cell go on from edited reasoning of its own, if the study asks for it."""
    cell = own.cell
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
    cell, weights = own.cell, own.weights
    if not isinstance(cell, TrainedCell) or cell.evaluate.at == "used":
        return []
    manifest = Manifest.read_of(own.checkpoints, cell.model, weights.made_by)
    suite, found = ran.asked[0], []
    some = asked_along(suite, cell.evaluate.each_step)
    for model in manifest.kept:
        if model.digest == manifest.used.digest:
            right = known(suite, some, ran.graded[0])
        else:
            engine = engine_of_weights(own.stage, cell, weights.get(model.digest), work_of(own))
            with ProgressReport(f"{own.title}: step {model.step}", len(some.names)) as shown:
                (graded,) = evaluate(engine, [some], seed=cell.seed, report=shown.at)
            right = [each.grade.correct for each in graded]
        found.append(noted(model.step, suite, some, right))
    return found


def asked(stage: Stage, cell: Cell) -> list[Asked]:
    """What a cell is asked, and how: the tasks of the suite first, then each side-check."""
    settings, suite = cell.evaluate, stage.params.suite
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


def programmed(own: CellStage, engine: Engine, columns: Sequence[Asked]) -> list[Asked]:
    """What a cell is asked, by its prompt program if it has one; side-checks are as they are."""
    suite, *checks = columns
    for program in own.cell.evaluate.programs.values():  # one at most
        run = _program(own, program, suite.asking, engine)
        suite = replace(suite, asking=replace(suite.asking, program=run))
    return [suite, *checks]


def _program(own: CellStage, program: config.AnyProgram, asking: Asking, engine: Engine) -> Program:
    def demonstrations(count: int | None = None) -> list[Example]:
        shown = own.stage.params.suite.demonstrations
        assert shown is not None  # else the study is refused
        return read_column(own.stage.data / "suite" / DEMONSTRATIONS, shown.task)[:count]

    match program:
        case config.FewShot():
            return few_shot(demonstrations(program.shots), asking.prompt)
        case config.SimTom():
            return sim_tom
        case config.Recursion():
            return recursion
        case config.Vote():
            return vote(program)
        case config.Best(verifier="beliefs"):
            return best(program, lambda: by_beliefs)
        case config.Best():
            drawn = replace(
                asking,
                samples=program.of,
                sampling=replace(asking.sampling, temperature=program.temperature),
            )
            seed = own.cell.seed
            return best(program, cache(lambda: learned(engine, demonstrations(), drawn, seed)))


if __name__ == "__main__":
    run("evaluate", main, of_cell)
