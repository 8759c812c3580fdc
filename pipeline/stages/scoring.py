"""Asking a cell's model: open its engine, ask and grade, write what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from pipeline.base.closure import own_code
from pipeline.base.errors import UserError
from pipeline.base.plugins import ENGINES, SERVED
from pipeline.base.progress import ProgressReport
from pipeline.config.params import ApiCell, Cell
from pipeline.evaluate.engine import Engine, EnginePlace
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.option_scoring import Likelihoods, choices_of, with_scores
from pipeline.evaluate.records import AskedStep, Evaluation, TaskScores
from pipeline.evaluate.runner import (
    Asked,
    Graded,
    evaluate,
    repeated,
    write_grades,
    write_responses,
)
from pipeline.formats.files import write_lines
from pipeline.formats.provenance import GRADING, installed
from pipeline.model.manifest import SERVED_BY, ServedManifest, resolve
from pipeline.stages.common import CellStage, Stage


@dataclass(frozen=True)
class ModelRun:
    """What came of running a model, and with what; nothing where it was not run."""

    engine: str
    libraries: Mapping[str, str]
    asked: Sequence[Asked] = ()
    graded: Sequence[Sequence[Graded]] = ()


def _served(own: CellStage, cell: ApiCell) -> ServedManifest:
    kind = SERVED_BY[cell.evaluate.engine]
    return kind.read_of(own.checkpoints, cell.model, own.weights.made_by)


def absent(own: CellStage) -> str | None:
    """Why a model behind an address cannot be asked; None where it can, or has weights."""
    cell = own.cell
    if not isinstance(cell, ApiCell):
        return None
    module = SERVED[cell.evaluate.engine].module
    reason = cast(Callable[[ServedManifest], str | None], import_module(module).reason_absent)
    return reason(_served(own, cell))


def engine_of(own: CellStage) -> Engine:
    """The engine of a cell.

    Raises:
        UserError: If the engine runs no weights, or the checkpoint is gone or cannot be loaded.
    """
    cell = own.cell
    name = cell.evaluate.engine
    if isinstance(cell, ApiCell):
        ask = cast(Callable[[ServedManifest, Path, Path], Engine], SERVED[name].load())
        return ask(_served(own, cell), own.stage.root, work_of(own))
    if name not in ENGINES:
        raise UserError(
            f"cells.{own.key}.evaluate.engine: found {name!r}; a model with weights is run by: "
            f"{', '.join(ENGINES)}"
        )
    model = resolve(own.checkpoints, own.weights, cell.model)
    return engine_of_weights(own.stage, cell, model, work_of(own))


def engine_of_weights(stage: Stage, cell: Cell, model: Path, work: Path) -> Engine:
    """The engine that a cell names for weights.

    Args:
        stage: The study and its checkout.
        cell: The cell.
        model: Folder of the weights.
        work: Folder of what is unfinished.
    """
    place = EnginePlace(
        model=model,
        work=work,
        root=stage.root,
        threads=stage.params.study.threads,
        batch=cell.evaluate.batch,
        precision=cell.evaluate.precision,
    )
    open_engine = cast(Callable[[EnginePlace], Engine], ENGINES[cell.evaluate.engine].load())
    return open_engine(place)


def work_of(own: CellStage) -> Path:
    """The folder of what is unfinished: of other code, another folder."""
    cell, name = own.cell, own.cell.evaluate.engine
    if isinstance(cell, ApiCell):
        return own.stage.work(name, own.key)
    return work_of_weights(own.stage, cell, name, own.key)


def work_of_weights(stage: Stage, cell: Cell, *inputs: str) -> Path:
    """The folder of what is unfinished of a cell's engine for weights, for these inputs."""
    code = own_code(ENGINES[cell.evaluate.engine].modules)
    return stage.work(*inputs, stage.params.study.threads, code)


def ask_columns(engine: Engine, cell: Cell, asked: Sequence[Asked], title: str) -> ModelRun:
    """Put columns of examples to an engine, and show how far it is."""
    responses = sum(len(each.examples) * each.asking.samples for each in asked)
    with ProgressReport(title, responses) as progress:
        graded = evaluate(engine, asked, seed=cell.seed, report=progress.at)
    if cell.evaluate.scoring == "options":
        suite, likely = asked[0], cast(Likelihoods, engine)  # as the configuration is held to
        choices = choices_of(suite)
        with ProgressReport(f"{title}: options", len(choices)) as progress:
            found = likely.log_likelihoods(list(choices.values()), progress.at)
        graded[0] = with_scores(suite, graded[0], choices, found)
    return ModelRun(engine.name, engine.libraries, asked, graded)


def write_scores(
    folder: Path,
    cell: Cell,
    ran: ModelRun,
    absent: str | None = None,
    along: Sequence[AskedStep] = (),
) -> Evaluation:
    """Write responses, grades and metrics into a folder; return the metrics."""
    names = [name for each in ran.asked for name in repeated(each.names, each.asking.samples)]
    examples = [e for each in ran.asked for e in repeated(each.examples, each.asking.samples)]
    graded = [answer for answers in ran.graded for answer in answers]
    identity = {"model": cell.model, "engine": ran.engine}
    write_responses(
        folder / "responses.parquet", examples, graded, names, identity | {"seed": cell.seed}
    )
    write_grades(folder / "grades.parquet", examples, graded, names)
    usual = cell.evaluate.precision == "float32"
    found = Evaluation(
        engine=ran.engine,
        prompt=cell.evaluate.prompt,
        libraries={**ran.libraries, **installed(*GRADING)},
        tasks=_by_column(ran),
        absent=absent,
        along=tuple(along),
        precision=None if ran.engine != "hf" or usual else cell.evaluate.precision,
    )
    found.write(folder / "metrics.json")
    return found


def _by_column(ran: ModelRun) -> dict[str, TaskScores]:
    result = {}
    for asked, graded in zip(ran.asked, ran.graded, strict=True):
        start, samples = 0, asked.asking.samples
        for name, examples in asked.columns.items():
            end = start + len(examples) * samples
            result[name] = task_metrics(examples, graded[start:end], samples)
            start = end
    return result


def write_timing(logs: Path, seconds: float) -> None:
    """Write when the stage ended, and the seconds it took."""
    write_lines(logs / "timing.jsonl", [{"step": 0, "at": time.time(), "seconds": seconds}])


def say(title: str, found: Evaluation, engine: Engine) -> None:
    """Print the accuracy of each column, and what it cost."""
    for name, scores in found.tasks.items():
        none = f"; {scores.unread} without an answer" if scores.unread else ""
        late = f"; {scores.too_late} too late to judge" if scores.too_late else ""
        print(f"{title}: {name} {scores.accuracy:.1%} of {scores.count}{none}{late}")
    if (spent := getattr(engine, "spent", None)) is not None:
        print(f"{title}: {spent}")
