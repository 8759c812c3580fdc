"""An environment of a study's questions as a package that others install: rows, prompt, grader.

The grader is the one of this project: its modules are copied under a name of the package's own, so
that it stands on the standard library alone. Files of the package are templates beside this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path

from pipeline.base.closure import closure
from pipeline.base.errors import UserError
from pipeline.base.plugins import BENCHMARKS
from pipeline.config.params import Params
from pipeline.config.sources import GeneratedSource
from pipeline.data.codec import read_dataset
from pipeline.data.fresh import Drawn, as_row
from pipeline.formats.files import write_lines
from pipeline.judge.recorded import read_suite
from pipeline.ops.share.licences import check_passing_on, licences, upstream_of
from pipeline.stages.common import Stage
from pipeline.tasks.example import Example

FOR: Mapping[str, tuple[str, ...]] = {
    "verifiers": ("taskset.py",),
    "trl": ("trl_rewards.py",),
    "inspect": ("inspect_task.py",),
    "lm-eval": ("lm_eval.yaml", "lm_eval_rows.py"),
}
"""The modules that each library reads."""
_ALWAYS = ("__init__.py", "rows.py")
_ROOT = Path(__file__).parents[3]
_OWN = re.compile(r"\bpipeline(?=\.[a-z_])")
_NAME, _DASHED = "tomrl_environment", "tomrl-environment"


def write_environment(
    stage: Stage, tasks: Sequence[str], combination: str | None, libraries: Sequence[str], to: Path
) -> str:
    """Write the package into an empty folder; return its name.

    Args:
        stage: The study whose rows it takes, and its checkout.
        tasks: Names of tasks or benchmarks.
        combination: The training set that it takes; the one there is if None.
        libraries: Keys of :data:`FOR`.
        to: The folder.

    Raises:
        UserError: If the study has no such rows, or they may not be passed on.
    """
    params = stage.params
    key, training = _training(stage, tasks, combination)
    sets = {"train": training, "test": _suite(stage, tasks)}
    there = {row.task for rows in sets.values() for row in rows}
    sources = upstream_of(params, there)
    check_passing_on(f"the questions of {', '.join(tasks)}", sources, to_train=True)
    name = re.sub(r"\W+", "_", f"tomrl_{'_'.join(tasks)}").lower()
    package = to / name
    for split, rows in sets.items():
        write_lines(package / f"{split}.jsonl", map(as_row, rows))
    engine, wanted = [*BENCHMARKS, "pipeline.tasks.registry"], [*_ALWAYS]
    if drawn := [each.model_dump(mode="json") for each in _drawn(params, key, there)]:
        write_lines(package / "stream.jsonl", drawn)
        engine.append("pipeline.data.fresh")
        wanted.append("stream.py")
    for module in closure(_ROOT, engine):
        _copy(module, package)
    for template in [*wanted, *chain.from_iterable(FOR[library] for library in libraries)]:
        (package / template).write_text(_filled(template, name), encoding="utf-8")
    (to / "pyproject.toml").write_text(_filled("pyproject.toml", name), encoding="utf-8")
    quoted = {source: ", ".join(each) for source, each in licences(sources).items()}
    (to / "README.md").write_text(_readme(stage.study, name, quoted, sets), encoding="utf-8")
    return name


def _training(
    stage: Stage, tasks: Sequence[str], combination: str | None
) -> tuple[str | None, list[Example]]:
    """The training set with questions of tasks, and these; None if there is none."""
    params = stage.params
    if combination is not None and combination not in params.dataset:
        there = ", ".join(params.dataset) or "none"
        raise UserError(f"--combination {combination}: there are of {stage.study}: {there}")
    keys = params.dataset if combination is None else (combination,)
    files = {key: stage.data / "combos" / key / "train.parquet" for key in keys}
    read = {key: [row.example for row in read_dataset(file)] for key, file in files.items()}
    found = {key: rows for key, each in read.items() if (rows := [*_of(each, tasks)])}
    if len(found) > 1:
        raise UserError(
            f"--combination: {len(found)} training sets have such questions; name one of: "
            f"{', '.join(found)}"
        )
    return next(iter(found.items()), (None, []))


def _drawn(params: Params, key: str | None, tasks: Collection[str]) -> Iterator[Drawn]:
    """Yield what fresh questions are drawn of: what a training set has of generated stories."""
    for part in params.dataset[key].train if key else ():
        source = params.acquire.get(part.task.removesuffix("_train"))
        own = part.task.endswith("_train") and part.task in tasks
        if own and isinstance(source, GeneratedSource):
            yield Drawn(task=part.task, source=source, orders=part.orders)


def _suite(stage: Stage, tasks: Sequence[str]) -> list[Example]:
    columns = stage.params.suite.tasks
    examples = chain.from_iterable(read_suite(stage.data / "suite", columns).values())
    found = [*_of(examples, tasks)]
    if not found:
        there = {registered.task for registered in columns.values()}
        raise UserError(
            f"the suite of {stage.study} asks nothing of {', '.join(tasks)}; it asks: "
            f"{', '.join(sorted(there))}"
        )
    return found


def _of(rows: Iterable[Example], tasks: Collection[str]) -> Iterator[Example]:
    """Yield the rows of tasks or benchmarks that are named."""
    return (row for row in rows if {row.task, row.benchmark} & {*tasks})


def _copy(module: str, package: Path) -> None:
    """Copy a module, or a file that belongs to one, under the package's own names."""
    dotted, _, data = module.partition(":")
    path = _ROOT.joinpath(*dotted.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    own = path.relative_to(_ROOT / "pipeline")
    target = package / "_engine" / (own.parent / data if data else own)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = (path.parent / data if data else path).read_text(encoding="utf-8")
    target.write_text(_OWN.sub(f"{package.name}._engine", text), encoding="utf-8")


def _filled(template: str, name: str) -> str:
    text = files(__package__).joinpath("environment", f"{template}.txt").read_text(encoding="utf-8")
    return text.replace(_NAME, name).replace(_DASHED, name.replace("_", "-"))


def _readme(study: str, name: str, quoted: object, sets: Mapping[str, Sequence[Example]]) -> str:
    sizes = ", ".join(f"{split}: {len(rows)}" for split, rows in sets.items())
    return (
        f"# {name}\n\nQuestions of the study {study} ({sizes}) with their grader. A response earns "
        "1 if it has the form that is asked for and gives one answer, right to the letter, and "
        "else nothing.\n\nInstall it with an extra of `pyproject.toml`: `pip install .[trl]`.\n\n"
        f"Upstream data: {json.dumps(quoted)}\n"
    )
