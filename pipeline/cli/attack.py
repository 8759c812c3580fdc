"""``tomrl attack``: the shortest stories that a cell gets wrong, while no rule does better."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.output import JsonOption, print_json, write_output
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.params_file import read_params
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pipeline.evaluate.attack import Attacked

_SHOWN = 10


def attack(
    cell: Annotated[str, typer.Argument(metavar="CELL", help="A cell of the study in use.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where all questions go, as JSON lines."),
    ] = None,
    count: Annotated[int, typer.Option("-n", min=1, max=100_000, help="Questions to find.")] = 100,
    budget: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Questions that may be asked.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Find the shortest stories that a cell gets wrong, while no rule does better.

    Stories grow event by event from where the cell is right least often. Gold answers are the
    belief engine's. Questions that rules solve, listed or learned, are left out, so that what is
    found is no shortcut turned round. Run again, it asks nothing twice.

    Example: `tomrl attack nano-balanced -n 1000 -o found.jsonl`, then `tomrl judge found.jsonl`
    """
    from pipeline.stages.attack import attack_cell
    from pipeline.stages.common import Stage

    root = find_root()
    stage = Stage("attack", root, read_params(root / "params.yaml"))
    found = attack_cell(stage, cell, count, budget, seed)
    if output is not None:
        lines = (json.dumps(each.row(), ensure_ascii=False) for each in found.kept)
        write_output(output, text := "".join(f"{line}\n" for line in lines))
        typer.echo(f"{output}: sha256 {sha256(text.encode()).hexdigest()}", err=True)
    if as_json:
        figures = {n: getattr(found, n) for n in ("asked", "right", "wrong", "solved", "rules")}
        print_json({**figures, "kept": len(found.kept)})
    else:
        _show(found, cell)


def _show(found: Attacked, cell: str) -> None:
    console = Terminal()
    table = make_table(f"Shortest stories that {cell} gets wrong", ["story", "right", "said"], ())
    for each in found.kept[:_SHOWN]:
        asked = f"{each.example.story}\n{each.example.question}"
        table.add_row(asked, each.example.answer, each.said or "-")
    if found.kept:
        console.print(table)
    rules = "too few to fit rules" if found.rules is None else f"{100 * found.rules:.0f} %"
    console.say(
        f"{cell} is right on {found.right} of {counted(found.asked, 'question')} asked in the "
        f"search. Of the {found.wrong} others, a rule learned from those before solves "
        f"{found.solved}; {len(found.kept)} are kept, the shortest that no rule, listed or "
        f"learned, solves (the best: {rules})."
    )
