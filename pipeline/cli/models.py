"""``tomrl models``: the tiny base models that come with the project, and making them again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.cli.output import JsonOption, print_json
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.lookup import lookup
from pipeline.formats.files import size
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pipeline.stages.shipping import ShippedModel

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the tiny base models that come with the project, in `models/`, or make them.",
    epilog="Example: `tomrl models list`",
)
console = Terminal()
_NONE = "no study takes a model from models/; `shipped: NAME` in base.models does"


@app.command(name="list")
def list_models(as_json: JsonOption = False) -> None:
    """List the shipped models: which study states the recipe, its size, and whether it is whole.

    Exits 1 if one is missing, altered, or made by another recipe than its study states.

    Example: `tomrl models list`
    """
    from pipeline.stages.shipping import FOLDER, shipped_models

    root = find_root()
    found = [_listed(root / FOLDER / name, model) for name, model in shipped_models(root).items()]
    if as_json:
        print_json([asdict(each) for each in found])
    elif not found:
        console.say(_NONE)
    else:
        table = make_table(None, ("model", "study", "state"), ("weights", "steps", "size"))
        for each in found:
            weights = "" if each.weights is None else f"{each.weights:,}"
            bytes_ = "" if each.bytes is None else decimal(each.bytes)
            table.add_row(each.model, each.study, each.state, weights, f"{each.steps:,}", bytes_)
        console.print(table)
    if any(each.weights is None for each in found):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A shipped model; ``weights`` are None where it is missing, altered or made otherwise."""

    model: str
    study: str
    state: str
    weights: int | None
    steps: int
    bytes: int | None


def _listed(folder: Path, model: ShippedModel) -> _Listed:
    from pipeline.train.shipped import check

    try:
        weights, state = check(folder, model.entry).parameters, "as stated"
    except UserError as error:
        weights, state = None, str(error)
    there = size(folder) if folder.exists() else None
    return _Listed(model.name, model.study, state, weights, model.steps, there)


@app.command()
def make(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models of `tomrl models list`; all if none.")
    ] = None,
) -> None:
    """Make shipped models again from the recipes that the studies state, one after the other.

    Each takes some minutes of one core. One that was interrupted goes on where it
    was; the model that is there stays until the new one is whole. On the processor and with the
    libraries that its card names, the same bytes come out.

    Example: `tomrl models make nano-0`
    """
    from pipeline.stages.shipping import FOLDER, remake, shipped_models
    from pipeline.stages.stop import StopRequest
    from pipeline.train.stopping import Interrupted

    root = find_root()
    there = shipped_models(root)
    if not there and not names:
        console.say(_NONE)
    chosen = [lookup(there, name, "studies/: shipped model") for name in names or there]
    stop = StopRequest()
    for model in chosen:
        with ProgressReport(f"model {model.name}", model.steps) as progress:
            try:
                card = remake(
                    root,
                    model,
                    lambda step, loss, bar=progress: bar.at(step, f"loss {loss:.3f}"),  # type: ignore[misc]
                    stop.requested,
                )
            except Interrupted:
                raise KeyboardInterrupt from None
        folder = root / FOLDER / model.name
        console.say(f"made {folder}: {card.parameters:,} weights, {decimal(size(folder))}")
