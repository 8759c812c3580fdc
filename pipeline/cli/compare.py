"""``tomrl compare``: two cells, or two studies, on the same questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.checkout import find_root
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.params_file import read_params
from pipeline.errors import UserError

if TYPE_CHECKING:
    from pipeline.analysis.compare import ColumnCompared
    from pipeline.analysis.paired import Answers

_LONGEST_SHOWN = 300  # characters of a response


@dataclass(frozen=True, slots=True)
class Named:
    """A cell by name: ``STUDY/CELL``."""

    study: str
    cell: str

    @property
    def text(self) -> str:
        """Return the name."""
        return f"{self.study}/{self.cell}"

    def folder(self, root: Path) -> Path:
        """Return the folder of its results."""
        return root / "runs" / self.study / self.cell


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A cell, STUDY/CELL, or a study.")],
    second: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.")],
    examples: Annotated[
        int, typer.Option(min=0, help="Questions to show of each kind whose answer turned.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two cells question by question: differences with intervals, and answers that turned.

    A cell is named as in the study in use, or STUDY/CELL. Two studies are compared in the cells
    that both have. Intervals are 95 %, paired and by story; p is that of McNemar's exact test,
    corrected for the columns of a pair of cells (Holm).

    Example: `tomrl compare nano-base nano-cued`
    """
    from pipeline.analysis.compare import compare as compare_answers

    root = find_root()
    results = []
    for one, other in _pairs(root, first, second):
        found = compare_answers(_answers(root, one), _answers(root, other))
        if not found:
            raise UserError(
                f"{one.text} and {other.text} have no column in common; name two cells of one study"
            )
        results.append((one, other, found))
    if as_json:
        rows = [
            {"first": a.text, "second": b.text, "columns": [each.as_json() for each in found]}
            for a, b, found in results
        ]
        print(json.dumps(rows))
        return
    console = Terminal()
    for one, other, found in results:
        _show(console, one, other, found)
        for text in _turned(root, one, other, found, examples):
            console.say(text)


def _pairs(root: Path, first: str, second: str) -> list[tuple[Named, Named]]:
    runs = root / "runs"
    if "/" not in first + second and all((runs / name).is_dir() for name in (first, second)):
        cells = [name for name in _cells(runs / first) if name in _cells(runs / second)]
        if not cells:
            raise UserError(f"the studies {first} and {second} have no evaluated cell in common")
        return [(Named(first, cell), Named(second, cell)) for cell in cells]
    return [(_named(root, first), _named(root, second))]


def _cells(folder: Path) -> list[str]:
    return sorted(path.parent.parent.name for path in folder.glob("*/evaluate/grades.parquet"))


def _named(root: Path, name: str) -> Named:
    study, slash, cell = name.rpartition("/")
    found = Named(study if slash else read_params(root / "params.yaml").study.name, cell)
    if not (found.folder(root) / "evaluate").is_dir():
        there = _cells(root / "runs" / found.study)
        allowed = ", ".join(there) or "none yet; run the study first: tomrl repro"
        raise UserError(f"no evaluated cell {found.text}; there are of {found.study}: {allowed}")
    return found


def _answers(root: Path, cell: Named) -> dict[str, Answers]:
    from pipeline.analysis.paired import read_answers

    folder = cell.folder(root)
    return {
        **read_answers(folder / "evaluate" / "grades.parquet", f"evaluate@{cell.cell}"),
        **read_answers(folder / "gsm8k" / "grades.parquet", f"gsm8k@{cell.cell}"),
    }


def _show(console: Terminal, one: Named, other: Named, found: Sequence[ColumnCompared]) -> None:
    table = make_table(
        f"A: {one.text}, B: {other.text}; accuracy in %",
        ["column"],
        ("A", "B", "B - A (95 %)", "p", "only B right", "only A right"),
    )
    for each in found:
        low, high = each.changed.interval
        table.add_row(
            each.column,
            f"{100 * each.first:.1f}",
            f"{100 * each.second:.1f}",
            f"{100 * (each.second - each.first):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
            f"{each.changed.p_value:.2g}",
            str(len(each.gained)),
            str(len(each.lost)),
        )
    console.print(table)


def _turned(
    root: Path, one: Named, other: Named, found: Sequence[ColumnCompared], examples: int
) -> Iterator[str]:
    """Yield questions whose answer turned, with both responses."""
    said = [_responses(root, cell) for cell in (one, other)]
    for each in found:
        asked = _questions(root, one.study, each.column) if each.gained or each.lost else {}
        for kind, names in (("only B is right", each.gained), ("only A is right", each.lost)):
            for name in names[:examples]:
                if name not in said[0] or name not in said[1]:  # the side-check
                    continue
                yield f"{each.column}, {kind}: {asked.get(name, name)}"
                for letter, texts in zip("AB", said, strict=True):
                    text = " ".join(texts[name].split())
                    yield f"  {letter}: {text[:_LONGEST_SHOWN]}"


def _responses(root: Path, cell: Named) -> dict[str, str]:
    from pipeline.evaluate.samples import first_samples
    from pipeline.judge.recorded import read_table

    path = cell.folder(root) / "evaluate" / "responses.parquet"
    frame = first_samples(read_table(path, ("id", "response"), f"evaluate@{cell.cell}"))
    return dict(zip(frame["id"], frame["response"], strict=True))


def _questions(root: Path, study: str, column: str) -> dict[str, str]:
    """Return the questions of a column with their gold answers, by id; none without the suite."""
    from pipeline.data.codec import read_examples

    path = root / "data" / study / "suite" / f"{column}.parquet"
    if not path.is_file():
        return {}
    return {e.id: f"{e.question} (gold: {e.answer})" for e in read_examples(path)}
