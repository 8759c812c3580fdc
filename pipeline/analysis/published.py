"""The results of a study beside those that its paper publishes, figure by figure.

The rule: an accuracy is ``replicated`` where the published value lies inside our 95 % interval; a
change where it does and our change has the sign of the published one; all else that was measured is
``not replicated``. What the study does not measure, or what was absent, is ``not run``. Papers give
no intervals, so what two samples differ by chance is allowed for once, not twice: a word
``not replicated`` may be chance of theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pandas as pd

from pipeline.analysis.grades import CORRECT, TOKENS, WORD_COUNT, contrast, rows_of, side_by_side
from pipeline.analysis.ledger.decisions import over_seeds
from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.seeds import groups
from pipeline.config.published import CHANGES, UNITS, Measure, PublishedFigure, PublishedTable
from pipeline.evaluate import statistics
from pipeline.evaluate.records import TaskScores
from pipeline.evaluate.statistics import Estimate
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import counted
from pipeline.formats.records import Record

Word = Literal["replicated", "not replicated", "not run"]
WORDS: tuple[Word, ...] = ("replicated", "not replicated", "not run")
HEADINGS = (
    *("published in", "model", "trained on", "column"),
    *("published", "ours", "95 % interval", "difference", "word"),
)


class BesidePublished(Record):
    """One published figure beside ours.

    Attributes:
        table: The table or figure of the paper.
        model: The model.
        combination: What it was trained on; empty for a base model.
        column: The column, or several with their questions together; with the order if of one.
        measure: What is measured.
        unit: Its unit.
        published: The published value.
        ours: Ours; None where it was not run, as are the next three.
        low: Lower end of our 95 % interval.
        high: Upper end of our 95 % interval.
        difference: Ours less the published value.
        word: ``replicated``, ``not replicated`` or ``not run``.
        why: Why it was not run, if it was not.
        reading: How the published figure is read, where its source leaves that open.
        source: Where it is published.
    """

    table: str
    model: str
    combination: str
    column: str
    measure: str
    unit: str
    published: float
    ours: float | None
    low: float | None
    high: float | None
    difference: float | None
    word: Word
    why: str | None
    reading: str | None
    source: str

    def texts(self) -> tuple[str, ...]:
        """The texts of its line."""
        named = (self.table, self.model, self.combination or "-", self.column)
        signed = "+" if self.measure in CHANGES else ""
        published = f"{self.published:{signed}g} {self.unit}"
        if self.ours is None:
            return (*named, published, "-", "-", "-", f"{self.word}: {self.why}")
        ours = (
            f"{self.ours:{signed}.1f}",
            f"{self.low:{signed}.1f} to {self.high:{signed}.1f}",
            f"{self.difference:+.1f}",
        )
        return (*named, published, *ours, self.word)


class _NotRun(Exception):
    """Says why a figure was not run."""


def beside_published(results: Results) -> list[BesidePublished]:
    """Every published figure beside ours; none where the study re-runs no paper."""
    tables = results.published
    return [_beside(results, table, figure) for table in tables for figure in table.figures]


def summary(paper: str, found: Sequence[BesidePublished]) -> str:
    """In one sentence how many figures are replicated."""
    count = Counter(each.word for each in found)
    said = ", ".join(f"{count[word]} {word}" for word in WORDS)
    return f"of {counted(len(found), 'figure')} that {paper} publishes: {said}"


def published_markdown(found: Sequence[BesidePublished]) -> str:
    """The figures as a Markdown table; nothing where there are none."""
    return markdown_table(HEADINGS, (each.texts() for each in found)) if found else ""


# --- one figure -----------------------------------------------------------------------------------


def _beside(results: Results, table: PublishedTable, figure: PublishedFigure) -> BesidePublished:
    ours: Estimate | None
    try:
        ours, why = _measured(results, table, figure), None
    except _NotRun as error:
        ours, why = None, str(error)
    order = "" if figure.order is None else f", order {figure.order}"
    step = "" if figure.step is None else f", step {figure.step}"
    return BesidePublished(
        table=table.name,
        model=results.params.base[figure.model].model.title,
        combination=figure.combination or (f"{figure.of} of all" if figure.of else ""),
        column=f"{' + '.join(figure.column)}{order}{step}",
        measure=table.measure,
        unit=UNITS[table.measure],
        published=figure.value,
        ours=None if ours is None else ours.value,
        low=None if ours is None else ours.low,
        high=None if ours is None else ours.high,
        difference=None if ours is None else ours.value - figure.value,
        word="not run" if ours is None else _word(table.measure, figure.value, ours),
        why=why,
        reading=table.reading,
        source=table.source,
    )


def _word(measure: str, published: float, ours: Estimate) -> Word:
    inside = ours.low <= published <= ours.high
    same_sign = measure not in CHANGES or published * ours.value >= 0
    return "replicated" if inside and same_sign else "not replicated"


def _measured(results: Results, table: PublishedTable, figure: PublishedFigure) -> Estimate:
    """What the study measured.

    Raises:
        _NotRun: If it did not.
    """
    if (reason := figure.not_run or table.not_run) is not None:
        raise _NotRun(reason)
    choose = min if figure.of == "lowest" else max
    found = [
        over_seeds([_OURS[table.measure](results, figure, cell) for cell in cells])
        for cells in _cells(results, figure)
    ]
    return choose(found, key=lambda each: each.value)


def _cells(results: Results, figure: PublishedFigure) -> list[Sequence[CellResult]]:
    """The cells that a figure is of, seeds together; several where the least or most is meant."""
    if not figure.is_trained:
        return [[results.cells[f"{figure.model}-base"]]]
    trained = [
        group.cells
        for group in groups(results)
        if group.cells[0].cell.model == figure.model
        and figure.combination in (None, group.cells[0].cell.combination)
    ]
    if trained:
        return [*(trained if figure.of else trained[:1])]
    missing = results.missing().items()
    of_model = [(key, why) for key, why in missing if results.cells[key].cell.model == figure.model]
    raise _NotRun("; ".join(f"{key}: {why.text()}" for key, why in of_model))


def _level(_: Results, figure: PublishedFigure, cell: CellResult) -> Estimate:
    scores = [_scored(cell, column) for column in figure.column]
    if figure.order is not None and str(figure.order) not in scores[0].by_order:
        raise _NotRun(f"{cell.key} was asked nothing of order {figure.order}")
    if len(scores) == 1:
        asked = scores[0] if figure.order is None else scores[0].by_order[str(figure.order)]
        return _percent(Estimate(asked.accuracy, *asked.interval, asked.count, asked.count))
    rows = _graded(cell, figure)
    return _percent(statistics.share(rows["value"].tolist(), rows["story"].tolist()))


def _change(results: Results, figure: PublishedFigure, cell: CellResult) -> Estimate:
    return _percent(contrast(_paired(results, figure, cell), figure.column))


def _shrunk(results: Results, figure: PublishedFigure, cell: CellResult) -> Estimate:
    both = _paired(results, figure, cell, TOKENS)
    return _percent(statistics.ratio(*side_by_side(both, figure.column, TOKENS)), less=1)


def _paired(
    results: Results, figure: PublishedFigure, cell: CellResult, what: str = CORRECT
) -> pd.DataFrame:
    """What base model and trained one answered, where both were recorded."""
    base = results.base_of(cell)
    for each in (base, cell):
        _graded(each, figure, what)
    return results.paired(base, cell)


def _words(_: Results, figure: PublishedFigure, cell: CellResult) -> Estimate:
    rows = _graded(cell, figure, WORD_COUNT)
    return statistics.median(rows["value"].tolist(), rows["story"].tolist())


_OURS: Mapping[Measure, Callable[[Results, PublishedFigure, CellResult], Estimate]] = {
    "accuracy": _level,
    "change of accuracy": _change,
    "change of length": _shrunk,
    "median words": _words,
}
"""How each measure is taken of one cell."""


def _scored(cell: CellResult, column: str) -> TaskScores:
    if cell.absent is not None:
        raise _NotRun(cell.absent)
    if cell.missing is not None:
        raise _NotRun(cell.missing.text())
    if column not in cell.all_tasks():
        raise _NotRun(f"{cell.key} was not asked {column}")
    return cell.all_tasks()[column]


_UNRECORDED = {
    CORRECT: "the answers of {} to {} were not recorded",
    TOKENS: "the lengths of its responses were not recorded",
    WORD_COUNT: "the words of its responses were not counted",
}


def _graded(cell: CellResult, figure: PublishedFigure, what: str = CORRECT) -> pd.DataFrame:
    """The grades of a cell in the columns of a figure."""
    for column in figure.column:
        _scored(cell, column)
    for needed in dict.fromkeys((CORRECT, what)):
        rows = rows_of(cell.grades, needed, figure.column)
        if lacking := [name for name in figure.column if name not in set(rows["column"])]:
            raise _NotRun(_UNRECORDED[needed].format(cell.key, lacking[0]))
    return rows


def _percent(found: Estimate, less: float = 0.0) -> Estimate:
    value, low, high = (100 * (end - less) for end in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)
