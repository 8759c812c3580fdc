"""``tomrl regrade``: what recorded answers score, by the rules of the papers or this project's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.cells import CELL, BenchmarkOption, items_by_task, names_cell
from pipeline.cli.output import JsonOption
from pipeline.cli.reading import TABLE
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal

if TYPE_CHECKING:
    from pipeline.evaluate.regrade import Regraded


class Match(StrEnum):
    """How an answer is found and compared."""

    STRICT = "strict"
    EXPANDED = "expanded"
    TAGS = "tags"


AnswersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|CELL",
        help=f"{TABLE} Columns: response (or model_answer) and answer; optional "
        f"are id, story, question, choices and order (or question_order). Or {CELL}.",
    ),
]


def regrade(
    source: AnswersArgument,
    benchmark: BenchmarkOption = None,
    match: Annotated[
        Match,
        typer.Option(
            help="strict and expanded read answers in JSON: strict as written, expanded with an "
            "underscore taken for a space (the base column of Study 1's Table 1). tags reads "
            "answers in tags, by the task's published rule."
        ),
    ] = Match.TAGS,
    as_json: JsonOption = False,
) -> None:
    """Grade recorded answers again, and print their accuracy by belief order.

    Intervals are 95 %, by story.

    Example: `tomrl regrade answers.csv --match expanded` or `tomrl regrade mini/nano-cued`
    """
    if not names_cell(source):
        graded = _grade_file(source, benchmark or "hi_tom", match)
        if as_json:
            print(json.dumps(_as_json(graded, match)))
        else:
            _show(graded, source.name, benchmark or "hi_tom", match)
        return
    by_task = dict(_grade_cell(str(source), benchmark, match))
    if as_json:
        print(json.dumps({task: _as_json(graded, match) for task, graded in by_task.items()}))
        return
    for task, graded in by_task.items():
        _show(graded, str(source), task, match)


def _grade_file(source: Path, benchmark: str, match: Match) -> Regraded:
    from pipeline.evaluate.answers import read_answers
    from pipeline.evaluate.regrade import regrade as grade_again
    from pipeline.tasks import registry

    task = registry.get(benchmark)
    return grade_again(read_answers(source, task, ("answer", "response")), task, match.value)


def _grade_cell(name: str, benchmark: str | None, match: Match) -> Iterator[tuple[str, Regraded]]:
    """Yield what a cell's answers score, task by task."""
    from pipeline.evaluate.answers import AnsweredQuestion
    from pipeline.evaluate.regrade import regrade as grade_again
    from pipeline.tasks import registry

    for task, items in items_by_task(name, benchmark).items():
        answers = [AnsweredQuestion(i.example.id, i.example, i.response) for i in items]
        yield task, grade_again(answers, registry.get(task), match.value)


def _as_json(result: Regraded, match: Match) -> dict[str, Any]:
    shares = {order: found.as_json() for order, found in result.by_order.items()}
    return {
        "accuracy": shares,
        "match": match.value,
        "without_answer": result.found.count(False),
    }


def _show(result: Regraded, name: str, task: str, match: Match) -> None:
    missing, all_answers = result.found.count(False), len(result.found)
    title = f"{name}: {task}, match {match.value}"
    table = make_table(title, ["order"], ("right", "of", "%", "95 %"))
    for order, found in result.by_order.items():
        right = round(found.value * found.count)
        span = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
        table.add_row(order, str(right), str(found.count), f"{100 * found.value:.2f}", span)
    console = Terminal()
    console.print(table)
    if missing == all_answers:
        where = "tags" if match is Match.TAGS else "JSON"
        other = "expanded" if match is Match.TAGS else "tags"
        console.say(f"No response has an answer in {where}; did you mean --match {other}?")
    elif missing:
        console.say(f"{missing} of {all_answers} responses have no answer; they count as wrong.")
