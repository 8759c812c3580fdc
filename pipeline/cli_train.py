"""``tomrl train``: what training would need, before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pipeline.checkout import find_root
from pipeline.config import Params, expand, find_study, lookup, read_params
from pipeline.errors import UserError

if TYPE_CHECKING:
    from pipeline.train.memory import Shape

_GIB = 2**30
_MEANING = {
    "parameters": "weights of the policy",
    "gradients": "one per weight",
    "optimiser": "AdamW's two moments",
    "reference": "frozen copy of the base model",
    "critic": "PPO's: weights, gradients, moments",
    "cache": "keys and values of all rollouts",
    "activations": "one micro-batch, estimated",
    "logits": "one micro-batch, in float32",
    "libraries": "torch and transformers",
    "peak": "at once, with 10 % margin",
}

app = typer.Typer(no_args_is_help=True, help="Look at training before it starts.")


@app.callback()
def _group() -> None:
    """Keep ``plan`` a command of its own."""


@app.command(
    epilog="Example: tomrl train plan --cell nano-hi; or, of another study: "
    "tomrl train plan --study rlvr --cell qwen25-7b-hi --memory 80"
)
def plan(
    cell: Annotated[str, typer.Option(help="A cell; `tomrl study show NAME` lists them.")],
    study: Annotated[
        str | None, typer.Option(help="A study of `tomrl study list`; else params.yaml as it is.")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(min=0, help="Memory in GiB to plan for; else what this machine has free."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="config.json of a model whose shape is not known here.")
    ] = None,
) -> None:
    """State the memory that the local trainer needs for a cell; exits 2 if it cannot fit."""
    from pipeline.train.device import available_memory, choose_device
    from pipeline.train.memory import plan as memory_plan
    from pipeline.train.shapes import shape_of

    root = find_root()
    params = expand(find_study(root, study)) if study else read_params(root / "params.yaml")
    chosen = params.cell(cell)
    if chosen.train is None or chosen.algorithm is None:
        raise UserError(f"cell {cell} trains nothing; choose one of: {', '.join(_trained(params))}")
    shape = (
        _read_shape(config)
        if config
        else shape_of(lookup(params.base, chosen.model, "model").model)
    )
    device = choose_device(chosen.train.device)
    found = memory_plan(shape, chosen.train, chosen.algorithm, on_gpu=device.type == "cuda")
    available = round(memory * _GIB) if memory is not None else available_memory(device)
    _print(found.rows(), f"{cell}: {shape.parameters:,} parameters on {device.type}")
    if found.peak > available:
        raise UserError(
            f"cell {cell} needs about {found.peak / _GIB:.1f} GiB, {available / _GIB:.1f} GiB are "
            "free. Lower train.groups_per_micro_batch, tokens_per_micro_batch, rollouts or "
            "max_new_tokens, set train.gradient_checkpointing, or choose a smaller model"
        )
    Console().print(f"fits: {available / _GIB:.1f} GiB are free", highlight=False)
    if chosen.train.backend != "local":
        Console().print(
            f"the study trains this cell with {chosen.train.backend}, which spreads it over GPUs "
            "in its own way; the figures are for train.backend: local",
            highlight=False,
        )


def _trained(params: Params) -> list[str]:
    return [key for key, cell in params.cells.items() if cell.train is not None]


def _read_shape(path: Path) -> Shape:
    from pipeline.files import read_json
    from pipeline.train.memory import Shape

    try:
        content: dict[str, Any] = read_json(path)
        return Shape.of(content)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not the config.json of a Qwen2 model ({error!r})") from None


def _print(rows: list[tuple[str, int]], title: str) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("what")
    table.add_column("GiB", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("")
    for name, size in rows:
        table.add_row(name, f"{size / _GIB:.3f}", f"{size:,}", _MEANING[name])
    Console().print(table)
