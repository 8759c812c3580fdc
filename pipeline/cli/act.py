"""``tomrl act``: tasks that ask a model to make others believe something, and how it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.cli.output import JsonOption, print_json
from pipeline.cli.reading import COLUMNS_HELP
from pipeline.cli.rows import write_rows
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal

if TYPE_CHECKING:
    from pipeline.evaluate.statistics import Estimate
    from pipeline.judge.acts import Acted


def act(
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Responses to such tasks; without it, tasks are written."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where tasks are written, as JSON lines.")
    ] = Path("-"),
    count: Annotated[int, typer.Option("-n", min=1, max=100_000, help="Number of tasks.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stories.")] = 0,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a model to act so that others believe something, and grade what it does.

    After a story the model says what one of three people does, so that another comes to believe
    something, in secret, falsely, or about somebody's belief. A replay of the story with these acts
    decides. Beside each task stands a literal question about the same story. Add the field
    `response` to the rows and give the file: shares come with 95 % intervals, and beside players
    that take belief for the world (level 0), that think everybody is believed (level 1), and that
    know minds.

    Example: `tomrl act -o tasks.jsonl`, then `tomrl act responses.jsonl`
    """
    from pipeline.evaluate.naming import parse_columns
    from pipeline.judge.acts import act_rows, acted

    if answers is None:
        write_rows(output, act_rows(count, seed))
        return
    if output != Path("-"):
        raise UserError(f"--output {output}: tasks are written without a file of responses")
    found = acted(answers, parse_columns(columns))
    if as_json:
        print_json(found.as_json())
    else:
        _show(found, answers.name)


def _show(found: Acted, name: str) -> None:
    table = make_table(f"{name}: goals reached", ["goal"], ("%", "95 %", "of"))
    for goal, reached in {**found.goals, "all": found.acts}.items():
        table.add_row(goal, *_cells(reached))
    if found.literal is not None:
        table.add_row("literal questions", *_cells(found.literal))
    console = Terminal()
    console.print(table)
    read, other = found.read
    if other:
        console.say(f"answers read {read} of {found.acts.count}; not in this: {other!r}")
    players = make_table(
        "Players on the same tasks, and p of McNemar's exact test with the model",
        ["player"],
        ("%", "95 %", "of", "p"),
    )
    for player, (reached, p) in found.players.items():
        players.add_row(player, *_cells(reached), f"{p:.2g}")
    console.print(players)


def _cells(found: Estimate) -> tuple[str, str, str]:
    span = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
    return f"{100 * found.value:.1f}", span, str(found.count)
