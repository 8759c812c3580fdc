"""The long tables of the page, which are made once somebody opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.analysis.along import HEADINGS as ALONG
from pipeline.analysis.along import curve_texts
from pipeline.analysis.results import Results
from pipeline.analysis.signatures import CellSignature
from pipeline.analysis.summary import StudySummary
from pipeline.analysis.verdicts import HEADINGS as VERDICTS
from pipeline.analysis.verdicts import CellVerdict, missing_texts
from pipeline.evaluate.records import TaskScores
from pipeline.formats.plural import percent

Row = tuple[str, ...]


@dataclass(frozen=True)
class Details:
    """A table.

    Attributes:
        section: Where it stands on the page: ``verdicts``, ``signatures`` or ``figures``.
        title: What it shows.
        note: What its figures mean; may be empty.
        headings: Of its columns.
        rows: Its texts.
    """

    section: Literal["verdicts", "signatures", "figures"]
    title: str
    note: str
    headings: Row
    rows: tuple[Row, ...]


def details(results: Results, report: StudySummary) -> list[Details]:
    """The tables that have rows."""
    return [
        table
        for table in (
            Details(
                "verdicts",
                "Why: every verdict with its reasons and signatures",
                "",
                (*VERDICTS, "because"),
                tuple(_reasons(results, report.verdicts)),
            ),
            Details(
                "signatures",
                "Every signature that was looked for, there or not",
                "",
                ("cell", "task", "signature", "present", "effect", "what the effect is"),
                tuple(map(_signature, report.signatures)),
            ),
            Details(
                "figures",
                "Gains that come and go",
                "Accuracy in % at the first step, at the highest one between and at the last, on "
                "the same questions. Gain and loss are of the highest step, in points; their "
                "intervals allow for all steps of all curves of the study.",
                ALONG,
                tuple(map(curve_texts, report.along)),
            ),
            Details(
                "figures",
                "Accuracy by cell, task and order",
                "",
                (
                    *("cell", "task", "questions", "accuracy", "95 % interval", "strict"),
                    *("format", "no answer", "mean length", "cut off", "prompt too long"),
                    "by order (strict)",
                ),
                tuple(_accuracies(results)),
            ),
            Details(
                "figures",
                "The benchmarks' own figures",
                "As their authors report them, from 0 to 1: macro-F1 of OpenToM's kinds of "
                "question, FANToM's scores by kind and by whole set of questions.",
                ("cell", "task", "figure", "value"),
                tuple(_own(results)),
            ),
        )
        if table.rows
    ]


def _reasons(results: Results, verdicts: Sequence[CellVerdict]) -> Iterator[Row]:
    for verdict in verdicts:
        profile = f"faculties: {verdict.profile}" if verdict.profile else ""
        yield (*verdict.texts(), "; ".join(filter(None, (*verdict.because, profile))))
    for texts in missing_texts(results):
        yield (*texts, "-")


def _signature(found: CellSignature) -> Row:
    present = "present" if found.present else "-"
    return (found.cell, found.task or "-", found.name, present, found.effect(), found.what)


def _accuracies(results: Results) -> Iterator[Row]:
    for key, result in results.cells.items():
        for task, scores in (*sorted(result.tasks.items()), *sorted(result.side_check.items())):
            low, high = scores.interval
            shares = (scores.strict_accuracy, scores.format_rate, scores.no_answer)
            yield (
                *(key, task, str(scores.count), percent(scores.accuracy)),
                f"{percent(low)} - {percent(high)}",
                *map(percent, shares),
                f"{scores.length_mean:.1f}",
                *map(str, (scores.unfinished, scores.prompts_too_long)),
                _by_order(scores),
            )


def _by_order(scores: TaskScores) -> str:
    return ", ".join(
        f"{order}: {percent(entry.accuracy)} ({percent(entry.strict_accuracy)})"
        for order, entry in scores.by_order.items()
        if order != "None"
    )


def _own(results: Results) -> Iterator[Row]:
    for key, result in results.cells.items():
        for task, scores in sorted(result.tasks.items()):
            for name, value in scores.own.items():
                yield (key, task, name, f"{value:.3f}")
