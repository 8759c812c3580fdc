"""``tomrl compare``: two cells, checkpoints, folders or studies, on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.base.errors import UserError
from pipeline.cli.cells import GRADES, Side, cell_side, evaluated_cells, side_of
from pipeline.cli.output import JsonOption, print_json
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import ends, percent, points
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.analysis.compare import ColumnCompared
    from pipeline.tasks.example import Example

_LONGEST_SHOWN = 300  # characters of a response


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A cell, a checkpoint, a folder, a study, or a file of answers.",
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="B", help="What it is compared with."),
    ],
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
    files = Path(first), Path(second)
    if all(file.is_file() for file in files):
        results = [_of_files(*files)]
    else:
        root = find_root()
        pairs = _pairs(root, first, second)
        results = [_of_cells(root, one, other) for one, other in pairs]
    if as_json:
        print_json([each.as_json() for each in results])
        return
    console = Terminal()
    for each in results:
        if each.same is not None:
            there = f"{each.same}: nothing to compare"
            console.say(f"{each.first} and {each.second} have the same answers, in {there}")
            continue
        _show(console, each)
        for turned in each.examples:
            _say(console, turned)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two sides.

    Attributes:
        first: The name of A.
        second: The name of B.
        columns: What differs, by column.
        examples: Questions that only one of the two answers right, with both responses.
        same: Where the answers of both lie, if they are the same ones.
    """

    first: str
    second: str
    columns: Sequence[ColumnCompared]
    examples: Sequence[Mapping[str, str]]
    same: Path | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "columns": [each.as_json() for each in self.columns],
            "examples": list(self.examples),
        }


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


def _of_cells(root: Path, one: Side, other: Side) -> _Compared:
    from pipeline.analysis.compare import compare as compare_answers

    found = compare_answers(_grades(one), _grades(other))
    if not found:
        raise UserError(
            f"{one.text} and {other.text} have no question in common; name two cells of one study, "
            "or folders of answers to the same suite"
        )
    if one.answers.samefile(other.answers):
        return _Compared(one.text, other.text, found, (), same=one.answers)
    study = one.study or other.study
    said = [_responses(side) for side in (one, other)]
    turned = _turned(said, lambda column: _questions(root, study, column), found)
    return _Compared(one.text, other.text, found, list(turned))


def _of_files(first: Path, second: Path) -> _Compared:
    from pipeline.analysis.board import items_of_answers, names_of, side_by_side
    from pipeline.judge.foreign import ForeignAnswers

    one, other = (items_of_answers(ForeignAnswers.of(path)) for path in (first, second))
    found = side_by_side(one, other)
    if found is None:
        raise UserError(f"{first} and {second} have no question in common")
    named = [dict(zip(names_of(items), items, strict=True)) for items in (one, other)]
    said = [{name: item.response for name, item in items.items()} for items in named]
    asked = {name: _with_gold(item.example) for name, item in named[0].items()}
    turned = _turned(said, lambda _: asked, [found])
    return _Compared(str(first), str(second), [found], list(turned))


def _show(console: Terminal, compared: _Compared) -> None:
    table = make_table(
        f"A: {compared.first}, B: {compared.second}; accuracy in %",
        ["column"],
        ("A", "B", "B - A (95 %)", "bootstrap", "p", "only B right", "only A right"),
    )
    for each in compared.columns:
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
    said: Sequence[Mapping[str, str]],
    asked_in: Callable[[str], Mapping[str, str]],
    found: Sequence[ColumnCompared],
) -> Iterator[dict[str, str]]:
    """Yield a question of each kind that only one answers right, with both responses.

    Args:
        said: The responses of both by question.
        asked_in: The questions of a column with their gold answers.
        found: What differs.
    """
    for each in found:
        asked = asked_in(each.column) if each.gained or each.lost else {}
        for kind, names in (("only B is right", each.gained), ("only A is right", each.lost)):
            for name in [name for name in names if all(name in of for of in said)][:1]:
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
    return {each.id: _with_gold(each) for each in read_examples(path)}


def _with_gold(example: Example) -> str:
    return f"{example.question} (gold: {example.answer})"
