"""``tomrl board``: models beside each other, from files of their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.cli.cells import BenchmarkOption
from pipeline.cli.output import JsonOption, check_output, print_json, write_output
from pipeline.cli.reading import COLUMNS_HELP, TABLE, RawOption
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal

if TYPE_CHECKING:
    from pipeline.analysis.board import Entry
    from pipeline.judge.items import Item


def board(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help=f"A file of answers for each model. {TABLE}"),
    ],
    benchmark: BenchmarkOption = None,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    raw: RawOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the board as a Markdown page."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put models beside each other: accuracy, what answers follow, faculties, and who leads whom.

    A model is called as its file. Each is compared with the next one below, on the questions that
    both answered; intervals are 95 %, by story, and p is that of McNemar's exact test. A file that
    cannot be read is named and left out, and the command exits 1.

    Example: `tomrl board answers/*.jsonl -o field.md`
    """
    from pipeline.analysis.board import board as board_of
    from pipeline.analysis.board import board_markdown

    if output is not None:
        check_output(output)
    console, bad = Terminal(stderr=as_json), False
    models: dict[str, list[Item]] = {}
    with ProgressReport("board", len(files), beside=True) as progress:
        for number, path in enumerate(files, 1):
            try:
                models[_name(path, models)] = _items(path, benchmark, columns, raw)
            except UserError as error:
                bad = True
                console.say(f"left out: {error}")
            progress.at(number, path.stem)
    if not models:
        raise UserError("no file could be read; see above")
    entries = board_of(models)
    if output is not None:
        write_output(output, board_markdown(entries))
    if as_json:
        print_json([each.as_json() for each in entries])
    else:
        console.print(_table(entries))
        for each in entries:
            console.say(f"{each.name}: {each.profile() or '-'}")
    if bad:
        raise typer.Exit(1)


def _items(path: Path, benchmark: str | None, columns: str | None, raw: Path | None) -> list[Item]:
    from pipeline.analysis.board import items_of_answers
    from pipeline.evaluate.naming import parse_columns
    from pipeline.judge.foreign import ForeignAnswers

    return items_of_answers(ForeignAnswers.of(path, benchmark, parse_columns(columns), raw))


def _name(path: Path, taken: dict[str, list[Item]]) -> str:
    return path.stem if path.stem not in taken else str(path)


def _table(entries: list[Entry]) -> Table:
    from pipeline.analysis.board import HEADINGS

    names = [HEADINGS[place] for place in (0, 2, 4, 6, 7)]
    figures = [HEADINGS[place] for place in (1, 5, 8)]
    table = make_table("Models", names, figures)
    for each in entries:
        texts = each.texts()
        table.add_row(*(texts[place] for place in (0, 2, 4, 6, 7, 1, 5, 8)))
    return table
