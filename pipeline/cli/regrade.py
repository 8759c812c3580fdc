"""``tomrl judge --match``: grading answers again, by the rules of the papers or this project's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli.cells import items_by_task
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal

if TYPE_CHECKING:
    from pipeline.evaluate.regrade import Regraded
    from pipeline.judge.foreign import ForeignAnswers

GRADED = ("answer", "response")
"""What every row must have to be graded."""


class Match(StrEnum):
    """A way to find and compare answers."""

    STRICT = "strict"
    EXPANDED = "expanded"
    TAGS = "tags"


def regrade(
    source: ForeignAnswers | Path, benchmark: str | None, match: Match, *, as_json: bool
) -> None:
    """Grade the answers of a file or a cell again, and print their accuracy by belief order."""
    if not isinstance(source, Path):
        graded = _grade_file(source, match)
        if as_json:
            print(json.dumps(_as_json(graded, match)))
        else:
            _show(graded, source.path.name, source.task.name, match)
        return
    by_task = dict(_grade_cell(str(source), benchmark, match))
    if as_json:
        print(json.dumps({task: _as_json(graded, match) for task, graded in by_task.items()}))
        return
    for task, graded in by_task.items():
        _show(graded, str(source), task, match)


def _grade_file(file: ForeignAnswers, match: Match) -> Regraded:
    from pipeline.evaluate.regrade import regrade as grade_again

    return grade_again(file.read(GRADED), file.task, match.value)


def _grade_cell(name: str, benchmark: str | None, match: Match) -> Iterator[tuple[str, Regraded]]:
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
