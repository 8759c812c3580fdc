"""``tomrl study``: which studies there are, what they say, and which one is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.checkout import find_root, use_study
from pipeline.config.expand import expand
from pipeline.config.params_file import dump_params, read_params
from pipeline.config.study import Study
from pipeline.config.study_files import find_study, study_files
from pipeline.errors import UserError

app = typer.Typer(no_args_is_help=True, help="List, show and choose studies.")
console = Console()
Name = Annotated[str, typer.Argument(help="Name of a study, see `tomrl study list`.")]


def check(root: Path, name: str) -> Study:
    """Return a study of this name whose tasks are all registered.

    Raises:
        UserError: If there is no such study, or with every mistake in its file.
    """
    from pipeline.tasks.registry import get

    study = find_study(root, name)
    parts = [
        part for c in study.dataset.combinations.values() for part in (*c.train, *c.validation)
    ]
    for name_of_task in (*(p.task for p in parts), *(t.task for t in study.suite.tasks.values())):
        get(name_of_task)
    get(study.gsm8k.task)
    return study


@app.command("list")
def list_studies() -> None:
    """List the studies, their size and which one params.yaml holds.

    Example: `tomrl study list`
    """
    root = find_root()
    table = Table("study", "cells", "models", "combinations", "backend", "title")
    present = _in_use(root)
    for name in study_files(root):
        study = find_study(root, name)
        params = expand(study)
        table.add_row(
            f"{name} (in use)" if name == present else name,
            str(len(params.cells)),
            str(len(params.base)),
            str(len(params.dataset)),
            study.train.backend,
            escape(study.title),
        )
    console.print(table)


@app.command()
def show(
    name: Name,
    expanded: Annotated[
        bool, typer.Option("--expanded", help="Print what params.yaml would hold.")
    ] = False,
) -> None:
    """Print the recipe of a study: models, data, reward, schedule, evaluation, cells.

    Example: `tomrl study show tom-rl`
    """
    study = check(find_root(), name)
    if expanded:
        typer.echo(dump_params(expand(study)), nl=False)
        return
    console.print(f"[bold]{escape(study.title)}[/]  (study {study.name})")
    if study.paper:
        console.print(f"paper: {escape(study.paper)}", highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for subject, value in _recipe(study):
        table.add_row(subject, escape(value))
    console.print(table, highlight=False)


@app.command()
def use(name: Name) -> None:
    """Write a study to params.yaml, so that `dvc repro` and `tomrl run` work on it.

    Example: `tomrl study use mini && dvc repro`
    """
    root = find_root()
    check(root, name)
    path = use_study(root, name)
    cells = len(read_params(path).cells)
    console.print(f"{path.name} now holds study {name}: {cells} cells. Run it with: dvc repro")


def _in_use(root: Path) -> str | None:
    try:
        return read_params(root / "params.yaml").study.name
    except UserError:
        return None


def _recipe(study: Study) -> list[tuple[str, str]]:
    train, evaluate = study.train, study.evaluate
    length = f"{train.steps} steps" if train.steps else f"{train.epochs:g} epochs"
    lines = [
        ("models", ", ".join(study.base.models[m].title for m in study.grid.models)),
        ("evaluated only", ", ".join(study.base.models[m].title for m in study.grid.evaluate_only)),
        ("combinations", ", ".join(study.grid.combinations)),
        ("algorithms", ", ".join(study.grid.algorithms)),
        ("seeds", ", ".join(map(str, study.grid.seeds))),
        ("split", study.dataset.split),
        ("prompt", study.dataset.prompt),
        ("reward", train.reward),
        (
            "batch",
            f"{train.prompts_per_step} prompts x {train.rollouts} rollouts = "
            f"{train.prompts_per_step * train.rollouts} responses, "
            f"{train.updates_per_batch} update per step",
        ),
        ("length", f"{length}, validation every {train.validate_every}, "
         f"checkpoints every {train.save_every}"),
        ("evaluated checkpoint", f"{train.checkpoint} on validation"
         if train.checkpoint == "best" else train.checkpoint),
        ("optimiser", f"AdamW, learning rate {train.learning_rate:g} constant, "
         f"gradient clip {train.gradient_clip:g}"),
        ("clip range", f"{train.clip_range:g}"),
        ("KL", f"{train.kl_kind}, coefficient {train.kl_coefficient:g}, as a loss term"),
        ("entropy coefficient", f"{train.entropy_coefficient:g}"),
        ("sampling", f"temperature {train.temperature:g}, top_p {train.top_p:g}, prompt at most "
         f"{train.max_prompt_tokens} tokens, response at most {train.max_new_tokens}"),
        ("backend", train.backend),
        ("evaluation", f"{evaluate.engine}, temperature {evaluate.temperature:g}, top_p "
         f"{evaluate.top_p:g}, prompt {evaluate.prompt}"
         + (f" (base models: {evaluate.base_prompt})" if evaluate.base_prompt else "")),
        ("tasks", ", ".join(study.suite.tasks)),
        ("probe", f"{', '.join(study.dataset.probe.columns)}: {study.dataset.probe.limit} rows each"
         if study.dataset.probe else ""),
        ("side-check", f"{study.gsm8k.task}, prompt {study.gsm8k.prompt}"),
        ("cells", ", ".join(expand(study).cells)),
    ]  # fmt: skip
    for key in study.grid.combinations:
        combination = study.dataset.combinations[key]
        for split, parts in (("train", combination.train), ("validation", combination.validation)):
            text = "; ".join(_part(p.task, p.orders, p.limit) for p in parts)
            lines.append((f"data {key}, {split}", text))
    return [(subject, value) for subject, value in lines if value]


def _part(task: str, orders: tuple[int, ...] | None, limit: int | None) -> str:
    orders_text = f" orders {', '.join(map(str, orders))}" if orders is not None else ""
    return f"{limit if limit else 'all'} of {task}{orders_text}"
