"""``tomrl models make``: making the shipped tiny base models again."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.filesize import decimal

from pipeline.base.progress import ProgressReport
from pipeline.cli.terminal import Terminal
from pipeline.config.lookup import lookup
from pipeline.formats.files import size
from pipeline.ops.driver.checkout import find_root

app = typer.Typer(
    no_args_is_help=True,
    help="Make the tiny base models that come with the project, in `models/`. `tomrl doctor` says "
    "whether they are whole.",
    epilog="Example: `tomrl models make nano-0`",
)
console = Terminal()
_NONE = "no study takes a model from models/; `shipped: NAME` in base.models does"


@app.callback()
def _group() -> None:
    """Keep ``make`` a command of its own."""


@app.command()
def make(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models in models/, such as nano-0; all if none.")
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
