"""The verdict on every cell: what its answers follow, what its reasoning is, what training did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.signatures import CellSignature
from pipeline.formats.fitting import FittingTable
from pipeline.formats.foreign import markdown_table
from pipeline.formats.records import Record
from pipeline.judge.answers import followed, said_to_follow
from pipeline.judge.found import could_be_found, findable
from pipeline.judge.profile import profile_text

HEADINGS = (
    "cell",
    "combination",
    "task",
    "answers follow",
    "explained",
    "could be found",
    "reasoning is",
    "signatures",
)
_ALIKE = ("task", "could be found")
"""Columns of the terminal's table that go where all verdicts have the same in them."""


class CellVerdict(Record):
    """The verdict on a cell and a task.

    Attributes:
        cell: Key of the cell.
        model: Its model.
        combination: What it is trained on; empty for a model that is not trained.
        task: The task.
        answers: What the answers follow: see :class:`pipeline.judge.decision.Decision`.
        by: The simpler mind or rule that they follow, or the parts of a mixture; else None.
        explained: Share of the answers that what is named predicts, or the best rule or mind.
        found: What could have been found; see :class:`pipeline.judge.found.Found`.
        profile: What the answers show of each faculty of a mind, in words.
        reasoning: ``faithful``, ``plausible``, ``unfaithful``, ``absent`` or ``unreadable``.
        because: The reasons, one sentence for each axis.
        signatures: Names of the signatures that its responses show; with the cell's first task,
            also of what training did to the cell.
    """

    cell: str
    model: str
    combination: str
    task: str
    answers: str
    by: str | None
    explained: float
    found: dict[str, float | None]
    profile: str
    reasoning: str
    because: tuple[str, str]
    signatures: list[str]

    def texts(self) -> tuple[str, ...]:
        """The texts of its line."""
        follow = followed(self.answers, self.by)
        found = ", ".join(self.signatures) or "-"
        named = (self.cell, self.combination or "-", self.task)
        return (*named, follow, f"{self.explained:.0%}", self.findable, self.reasoning, found)

    @property
    def findable(self) -> str:
        return findable(self.found)


def cell_verdicts(results: Results, signatures: Sequence[CellSignature]) -> list[CellVerdict]:
    """The verdicts on all cells, in the order of the study, with the signatures that they show."""
    shown = shown_by_cell(signatures)
    return [
        verdict
        for key, result in results.cells.items()
        for verdict in _of_cell(result, shown.get(key, []))
    ]


def shown_by_cell(signatures: Sequence[CellSignature]) -> dict[str, list[CellSignature]]:
    """The signatures that are there, by cell."""
    shown: dict[str, list[CellSignature]] = {}
    for each in signatures:
        if each.present:
            shown.setdefault(each.cell, []).append(each)
    return shown


def _of_cell(result: CellResult, shown: Sequence[CellSignature]) -> Iterator[CellVerdict]:
    first = next(iter(result.verdicts), None)
    for task, found in result.verdicts.items():
        asked = {task, ""} if task == first else {task}
        yield CellVerdict(
            cell=result.key,
            model=result.cell.title,
            combination=result.cell.combination or "",
            task=task,
            **found.model_dump(include={"answers", "by", "explained", "found", "reasoning"}),
            profile=profile_text(found.profile),
            because=(found.answers_because, found.reasoning_because),
            signatures=list(dict.fromkeys(s.name for s in shown if s.task in asked)),
        )


def verdict_table(results: Results, found: list[CellVerdict]) -> Table:
    """The verdicts for a terminal, with the cells that a partial report lacks.

    A column in which all say the same is told below the table instead.
    """
    headings = (HEADINGS[0], *HEADINGS[2:])
    texts = [*(each.texts() for each in found), *missing_texts(results)]
    lines = [(key, *others) for key, _, *others in texts]
    alike = {
        place: lines[0][place]
        for place, heading in enumerate(headings)
        if heading in _ALIKE and len({line[place] for line in lines}) == 1
    }
    table = FittingTable(
        title="Verdicts",
        caption="; ".join(f"{headings[p]}: {escape(text)}" for p, text in alike.items()) or None,
    )
    for place, heading in enumerate(headings):
        if place not in alike:
            table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(*(escape(t) for place, t in enumerate(line) if place not in alike))
    return table


def verdicts_markdown(results: Results, found: list[CellVerdict]) -> str:
    """The verdicts as a Markdown table, with the cells that a partial report lacks."""
    return markdown_of([*(each.texts() for each in found), *missing_texts(results)])


def markdown_of(verdicts: Sequence[Sequence[str]]) -> str:
    """The texts of verdicts as a Markdown table."""
    return markdown_table(HEADINGS, verdicts)


def missing_texts(results: Results) -> list[tuple[str, ...]]:
    """The texts of a line for each cell that a partial report lacks."""
    return [
        (key, results.cells[key].cell.combination or "-", "-", why.text(), *("-",) * 4)
        for key, why in results.missing().items()
    ]


def _profile(found: CellVerdict) -> str:
    return f"Faculties: {found.profile}. " if found.profile else ""


def verdict_findings(
    trained: Iterable[TrainedResult], signatures: Sequence[CellSignature]
) -> Iterator[str]:
    """Yield one sentence for each verdict on a trained cell, and for each signature it shows."""
    shown = shown_by_cell(signatures)
    for result in trained:
        for found in _of_cell(result, shown.get(result.key, [])):
            yield (
                f"{found.cell}: {found.task}: {said_to_follow(found.answers, found.by)}, "
                f"reasoning is {found.reasoning}: {found.because[0]}; {found.because[1]}. "
                f"{_profile(found)}"
                f"{could_be_found(found.found).capitalize()}."
            )
        yield from (each.sentence() for each in shown.get(result.key, []))
