"""``tomrl study``: listing, showing and selecting studies."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pipeline.analysis.against_paper import (
    AgainstPaper,
    Compared,
    against_paper,
    checked,
    in_words,
    no_record,
)
from pipeline.base.errors import UserError
from pipeline.cli.output import JsonOption, print_json, write_output
from pipeline.cli.tables import make_list, make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.expand import expand
from pipeline.config.params_file import read_params
from pipeline.config.study import Study
from pipeline.config.study_files import find_study, readable_studies
from pipeline.config.yaml_file import write_yaml
from pipeline.formats.files import json_text
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, use_study

app = typer.Typer(
    no_args_is_help=True,
    help="List, show, compare and choose studies. A study is one file in `studies/`: models, data, "
    "training and evaluation of an experiment.",
    epilog="Example: `tomrl study show mini`, then `tomrl study use mini && dvc repro`",
)
console = Terminal()
_HEAD = {"name", "title", "paper"}
Name = Annotated[
    str,
    typer.Argument(help="Name of a study, see `tomrl study list`."),
]

ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="PATH",
        help="A folder of Hugging Face's layout, or a GGUF file: the model that takes the place of "
        "the study's.",
    ),
]


def check(root: Path, name: str) -> Study:
    """A validated study of this name; UserError for an unknown one, or with every mistake."""
    from pipeline.data.named_tasks import task_mistakes

    return find_study(root, name, [task_mistakes])


def _home() -> Path:
    """The checkout, or outside of one what the package installs with it.

    Raises:
        UserError: If there is neither.
    """
    try:
        return find_root()
    except UserError:
        installed = Path(sysconfig.get_path("data"), "share", "tomrl")
        if installed.is_dir():
            return installed
        raise


@app.command("list")
def list_studies(as_json: JsonOption = False) -> None:
    """List the studies and their sizes; an asterisk marks the one in use.

    A file that is no study is named and left out, and the command exits 1.

    Example: `tomrl study list`
    """
    root = _home()
    present = _in_use(root)
    refused: list[UserError] = []
    found = readable_studies(root, refused.append)
    rows = [
        {
            "study": name,
            "in_use": name == present,
            "cells": len(params.cells),
            "models": len(params.base),
            "backend": study.train.backend,
            "title": study.title,
        }
        for name, study in found.items()
        for params in [expand(study)]
    ]
    if as_json:
        print_json(rows)
    else:
        table = make_table(None, ("", "study", "cells", "models", "backend", "title"))
        for row in rows:
            name, in_use, *others = row.values()
            table.add_row("*" if in_use else "", *map(str, (name, *others)))
        console.print(table)
    for error in refused:
        Terminal(stderr=True).say(f"left out: {error}")
    if refused:
        raise typer.Exit(1)


@app.command()
def show(
    name: Name,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every resolved parameter as JSON.")
    ] = False,
) -> None:
    """Print what a study sets, field by field, and its cells; the rest is as the defaults are.

    Example: `tomrl study show tom-rl`
    """
    study = check(_home(), name)
    if as_json:
        print_json(expand(study).model_dump(mode="json"))
        return
    console.print(f"[bold]{escape(study.title)}[/]  (study {study.name})")
    if study.paper:
        console.print(f"paper: {escape(study.paper)}", highlight=False)
    table = make_list()
    for subject, value in recipe(study):
        table.add_row(subject, escape(value))
    console.print(table, highlight=False)


def recipe(study: Study) -> list[tuple[str, str]]:
    """(field, its value as YAML), in the order of the file, and at the end the cells."""
    content = study.model_dump(mode="json", exclude=_HEAD, exclude_unset=True)
    lines = [line for field, value in content.items() for line in _lines(field, value)]
    return [*lines, ("cells", ", ".join(expand(study).cells))]


def _lines(field: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield a section's fields; deeper ones share a line, unless all are sections."""
    inner = value if isinstance(value, Mapping) else {}
    if inner and ("." not in field or all(isinstance(each, Mapping) for each in inner.values())):
        for name, each in inner.items():
            yield from _lines(f"{field}.{name}", each)
    else:
        yield field, write_yaml(value, flow=True).removesuffix("\n...\n").strip()


@app.command()
def diff(
    name: Name,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every statement as JSON, those that agree too.")
    ] = False,
) -> None:
    """Print how a study differs from the paper that it re-runs, what that leaves open, and why.

    Exits 2 if something differs and `studies/records/NAME.yaml` gives no reason.

    Example: `tomrl study diff tom-rl`
    """
    root = find_root()
    params = expand(find_study(root, name))
    found = against_paper(params, root)
    if found is None:
        sentence = no_record(params, root)
        machine, people = json_text({"study": name, "paper": None, "says": sentence}), sentence
    else:
        machine, people = checked(found).text(), "\n".join(_differences(found))
    if as_json:
        write_output(Path("-"), machine)
    else:
        Terminal().say(people)


def _differences(found: AgainstPaper) -> Iterator[str]:
    """Yield differences, open settings, and the names of equal ones."""
    differs, left, same = (found.of(status) for status in ("differs", "open", "same"))
    yield f"{found.study} re-runs {found.paper}: {found.title}"
    yield f"code: {found.code or 'not public'}"
    yield f"{counted(len(found.compared), 'statement')} of paper and code compared"
    for heading, chosen in (
        (f"{len(differs)} otherwise than stated", differs),
        (f"{len(left)} left open by the paper", left),
    ):
        yield f"\n{heading}"
        for each in chosen:
            yield from _block(each)
    yield f"\n{len(same)} as stated"
    for topic in dict.fromkeys(each.topic for each in same):
        yield f"  {topic}: {', '.join(each.what for each in same if each.topic == topic)}"


def _block(each: Compared) -> Iterator[str]:
    yield f"\n  {each.topic}: {each.what}" + (f" ({each.where})" if each.where else "")
    yield f"    stated  {in_words(each.stated)} [{each.source}]"
    yield f"    here    {in_words(each.here)}"
    yield f"    reason  {each.reason or 'none is given'}"


@app.command()
def use(name: Name, model: ModelOption = None) -> None:
    """Write a study to params.yaml, so that `dvc repro` and `tomrl run` work on it.

    Example: `tomrl study use mini && dvc repro`
    """
    root = find_root()
    check(root, name)
    path = use_study(root, name, model)
    cells = counted(len(read_params(path).cells), "cell")
    console.print(f"{path.name} now holds study {name}: {cells}. Run it with: dvc repro")


def _in_use(root: Path) -> str | None:
    try:
        return read_params(root / "params.yaml").study.name
    except UserError:
        return None
