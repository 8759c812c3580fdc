"""``tomrl compare``: two cells, checkpoints, folders or studies, on the same questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.cli.cells import GRADES, Side, cell_side, evaluated_cells, side_of
from pipeline.cli.completion import cell_names
from pipeline.cli.output import JsonOption
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import ends, percent, points
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.analysis.compare import ColumnCompared

_LONGEST_SHOWN = 300  # characters of a response


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A cell, a checkpoint, a folder, a study, or a file of answers.",
            autocompletion=cell_names,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="B", help="What it is compared with.", autocompletion=cell_names),
    ],
    examples: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many questions to show per column that only A gets right, and only B.",
        ),
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare two cells question by question, with intervals and the answers that differ.

    Name a cell of the study in use, or STUDY/CELL. CELL@best, CELL@last and CELL@STEP are its
    stored checkpoints; one that was not evaluated yet is evaluated now, once. A folder must hold
    grades.parquet and responses.parquet, as an evaluation writes them. For two studies, the cells
    that both have are compared. Two files of answers, as `tomrl judge` reads them, are compared on
    the questions that have the same text.

    Intervals are 95 %, paired and by story: Student's t, and by drawing stories again (bootstrap).
    p is that of McNemar's exact test, corrected for the columns of a pair of cells (Holm).

    Example: `tomrl compare nano-base nano-cued` or `tomrl compare nano-cued@best nano-cued@last`
    """
    from pipeline.analysis.compare import compare as compare_answers

    one_file, other_file = Path(first), Path(second)
    if one_file.is_file() and other_file.is_file():
        _compare_files(one_file, other_file, examples, as_json=as_json)
        return
    root = find_root()
    results = []
    for one, other in _pairs(root, first, second):
        found = compare_answers(_grades(one), _grades(other))
        if not found:
            raise UserError(
                f"{one.text} and {other.text} have no question in common; name two cells of one "
                "study, or folders of answers to the same suite"
            )
        results.append((one, other, found))
    if as_json:
        rows = [
            {
                "first": a.text,
                "second": b.text,
                "columns": [each.as_json() for each in found],
                "examples": list(_turned(root, a, b, found, examples)),
            }
            for a, b, found in results
        ]
        print(json.dumps(rows))
        return
    console = Terminal()
    for one, other, found in results:
        if one.answers.samefile(other.answers):
            there = f"{one.answers}: nothing to compare"
            console.say(f"{one.text} and {other.text} have the same answers, in {there}")
            continue
        _show(console, one.text, other.text, found)
        for turned in _turned(root, one, other, found, examples):
            _say(console, turned)


def _pairs(root: Path, first: str, second: str) -> list[tuple[Side, Side]]:
    runs = root / "runs"
    if "/" not in first + second and all((runs / name).is_dir() for name in (first, second)):
        others = evaluated_cells(runs / second)
        cells = [name for name in evaluated_cells(runs / first) if name in others]
        if not cells:
            raise UserError(f"the studies {first} and {second} have no evaluated cell in common")
        return [(cell_side(root, first, cell), cell_side(root, second, cell)) for cell in cells]
    return [(side_of(root, first), side_of(root, second))]


def _grades(side: Side) -> pd.DataFrame:
    from pipeline.analysis.grades import read_grades

    return read_grades(side.answers / GRADES, side.made_by)


def _compare_files(first: Path, second: Path, examples: int, *, as_json: bool) -> None:
    """Compare two files of answers."""
    from pipeline.analysis.board import items_of_answers, names_of, side_by_side
    from pipeline.judge.foreign import ForeignAnswers

    one, other = (items_of_answers(ForeignAnswers.of(path)) for path in (first, second))
    found = side_by_side(one, other)
    if found is None:
        raise UserError(f"{first} and {second} have no question in common")
    said = [dict(zip(names_of(items), items, strict=True)) for items in (one, other)]
    turned = [
        {
            "column": found.column,
            "kind": kind,
            "id": name,
            "question": f"{asked.question} (gold: {asked.answer})",
            "A": said[0][name].response,
            "B": said[1][name].response,
        }
        for kind, names in (("only B is right", found.gained), ("only A is right", found.lost))
        for name in names[:examples]
        for asked in [said[0][name].example]
    ]
    if as_json:
        named = {"first": str(first), "second": str(second)}
        print(json.dumps([{**named, "columns": [found.as_json()], "examples": turned}]))
        return
    console = Terminal()
    _show(console, str(first), str(second), [found])
    for each in turned:
        _say(console, each)


def _show(console: Terminal, one: str, other: str, found: Sequence[ColumnCompared]) -> None:
    table = make_table(
        f"A: {one}, B: {other}; accuracy in %",
        ["column"],
        ("A", "B", "B - A (95 %)", "bootstrap", "p", "only B right", "only A right"),
    )
    for each in found:
        table.add_row(
            each.column,
            percent(each.first),
            percent(each.second),
            points(each.second - each.first, *each.changed.interval),
            ends(*each.drawn),
            f"{each.changed.p_value:.2g}",
            str(len(each.gained)),
            str(len(each.lost)),
        )
    console.print(table)


def _turned(
    root: Path, one: Side, other: Side, found: Sequence[ColumnCompared], examples: int
) -> Iterator[dict[str, str]]:
    """Yield questions that only one of the two answers right, with both responses."""
    if not examples:
        return
    said = [_responses(side) for side in (one, other)]
    study = one.study or other.study
    for each in found:
        asked = _questions(root, study, each.column) if each.gained or each.lost else {}
        for kind, names in (("only B is right", each.gained), ("only A is right", each.lost)):
            for name in [name for name in names if all(name in of for of in said)][:examples]:
                yield {
                    "column": each.column,
                    "kind": kind,
                    "id": name,
                    "question": asked.get(name, name),
                    "A": said[0][name],
                    "B": said[1][name],
                }


def _say(console: Terminal, turned: Mapping[str, str]) -> None:
    console.say(f"{turned['column']}, {turned['kind']}: {turned['question']}")
    for letter in "AB":
        console.say(f"  {letter}: {' '.join(turned[letter].split())[:_LONGEST_SHOWN]}")


def _responses(side: Side) -> dict[str, str]:
    from pipeline.evaluate.samples import first_samples
    from pipeline.judge.recorded import read_table

    path = side.answers / "responses.parquet"
    frame = first_samples(read_table(path, ("id", "response"), side.made_by))
    return dict(zip(frame["id"], frame["response"], strict=True))


def _questions(root: Path, study: str | None, column: str) -> dict[str, str]:
    """The questions of a column with their gold answers, by id; none without the suite."""
    from pipeline.data.codec import read_examples

    if study is None:
        return {}
    path = root / "data" / study / "suite" / f"{column}.parquet"
    if not path.is_file():
        return {}
    return {e.id: f"{e.question} (gold: {e.answer})" for e in read_examples(path)}
