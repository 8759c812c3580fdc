"""An environment of a study's questions as a package that others install: rows, prompt, grader.

The grader's modules are copied under a name of the package's own, so that it stands on the standard
library alone. Files of the package are templates beside this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path

from pipeline.base.closure import closure
from pipeline.base.errors import UserError
from pipeline.base.plugins import BENCHMARKS
from pipeline.config.lookup import lookup
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.config.sources import GeneratedSource
from pipeline.data.codec import read_dataset
from pipeline.data.fresh import Drawn, as_row
from pipeline.data.prompt import maker
from pipeline.formats.files import write_json, write_lines, write_text
from pipeline.judge.recorded import read_suite
from pipeline.ops.share.licences import licences
from pipeline.stages.common import Stage
from pipeline.stages.prompts import frame_of
from pipeline.tasks.example import Example

_FOR: dict[str, tuple[str, ...]] = {
    "verifiers": ("taskset.py",),
    "trl": ("trl_rewards.py",),
    "inspect": ("inspect_task.py",),
    "lm-eval": ("lm_eval.yaml", "lm_eval_rows.py"),
}
_ROOT = Path(__file__).parents[3]
_OWN = re.compile(r"\bpipeline(?=\.[a-z_])")


def write_environment(
    root: Path, tasks: Sequence[str], key: str | None, libraries: Sequence[str], to: Path
) -> str:
    """Write a package of tasks or benchmarks of the study in use; return its name.

    It takes the training set ``key``, or the one there is; it is for all libraries if none is
    named. A study without such rows and rows that may not be passed on are UserErrors.
    """
    params = read_params(root / "params.yaml")
    stage = Stage("export", root, params)
    modules = [name for each in libraries or _FOR for name in lookup(_FOR, each, "--for")]
    key, training = _training(stage, tasks, key)
    sets = {"train": training, "test": _suite(stage, tasks)}
    last = list(params.cells.values())[-1]  # base models, whose prompt may be another, come first
    asked = next((c for c in params.cells.values() if key and c.combination == key), last)
    styles = {"test": asked.evaluate.prompt}
    styles["train"] = params.dataset[key].prompt if key else styles["test"]
    frames = {style: frame_of(stage, style) for style in styles.values()}
    there = {row.task for rows in sets.values() for row in rows}
    quoted = licences(params, there, f"the questions of {', '.join(tasks)}", to_train=True)
    name = re.sub(r"\W+", "_", f"tomrl_{'_'.join(tasks)}").lower()
    package, engine = to / name, [*BENCHMARKS, "pipeline.tasks.registry"]
    for split, rows in sets.items():
        prompt = maker(styles[split], frames[styles[split]])
        write_lines(package / f"{split}.jsonl", (as_row(each, prompt) for each in rows))
    if drawn := [each.model_dump(mode="json") for each in _drawn(params, key, there)]:
        write_lines(package / "stream.jsonl", drawn)
        frame = frames[styles["train"]]
        said = {"name": styles["train"], "frame": frame and frame.model_dump()}
        write_json(package / "stream_prompt.json", said)
        engine.append("pipeline.data.fresh")
    for module in closure(_ROOT, engine):
        _copy(module, package)
    for template in ("__init__.py", *modules):
        (package / template).write_text(_filled(template, name), encoding="utf-8")
    (to / "pyproject.toml").write_text(_filled("pyproject.toml", name), encoding="utf-8")
    about = {
        "STUDY": stage.study,
        "SIZES": ", ".join(f"{len(rows)} to {split}" for split, rows in sets.items()),
        "PROMPT": styles["test"],
        "ASKED": json.dumps(as_row(sets["test"][0], prompt)["prompt"], indent=2),
        "LICENCES": "\n".join(f"- {source}: {licence}" for source, licence in quoted.items())
        or "Every question was generated; nothing upstream is quoted.",
    }
    text = _filled("README.md", name)
    for word, value in about.items():
        text = text.replace(f"@{word}@", value)
    (to / "README.md").write_text(text, encoding="utf-8")
    return name


def _training(
    stage: Stage, tasks: Sequence[str], key: str | None
) -> tuple[str | None, list[Example]]:
    """The training set with questions of tasks, and these; None if there is none."""
    files = {each: stage.data / "combos" / each / "train.parquet" for each in stage.params.dataset}
    if key is not None:
        files = {key: lookup(files, key, f"{stage.study}: --combination")}
    read = {each: (row.example for row in read_dataset(file)) for each, file in files.items()}
    found = {each: own for each, rows in read.items() if (own := _of(rows, tasks))}
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
    found = _of(chain.from_iterable(read_suite(stage.data / "suite", columns).values()), tasks)
    if not found:
        there = ", ".join(sorted({registered.task for registered in columns.values()}))
        raise UserError(
            f"the suite of {stage.study} asks nothing of {', '.join(tasks)}; it asks: {there}"
        )
    return found


def _of(rows: Iterable[Example], tasks: Collection[str]) -> list[Example]:
    """The rows of tasks or benchmarks that are named."""
    return [row for row in rows if {row.task, row.benchmark} & {*tasks}]


def _copy(module: str, package: Path) -> None:
    """Copy a module, or a file that belongs to one, under the package's own names."""
    dotted, _, data = module.partition(":")
    path = _ROOT.joinpath(*dotted.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    path = path.with_name(data) if data else path
    text = _OWN.sub(f"{package.name}._engine", path.read_text(encoding="utf-8"))
    write_text(package / "_engine" / path.relative_to(_ROOT / "pipeline"), text)


def _filled(template: str, name: str) -> str:
    text = files(__package__).joinpath("environment", f"{template}.txt").read_text(encoding="utf-8")
    dashed = name.replace("_", "-")
    return text.replace("tomrl_environment", name).replace("tomrl-environment", dashed)
