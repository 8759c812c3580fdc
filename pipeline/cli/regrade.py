"""``tomrl judge --match``: grading answers again, by the rules of the papers or this project's."""

from __future__ import annotations

import json
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
    from pipeline.evaluate.answers import AnsweredQuestion
    from pipeline.evaluate.regrade import regrade as grade_again
    from pipeline.tasks import registry

    if isinstance(source, Path):
        name, by_task = (
            str(source),
            {
                task: [AnsweredQuestion(i.example.id, i.example, i.response) for i in items]
                for task, items in items_by_task(str(source), benchmark).items()
            },
        )
    else:
        name, by_task = source.path.name, {source.task.name: source.read(GRADED)}
    graded = {
        task: grade_again(answers, registry.get(task), match.value)
        for task, answers in by_task.items()
    }
    if not as_json:
        for task, found in graded.items():
            _show(found, name, task, match)
        return
    told = {task: _as_json(found, match) for task, found in graded.items()}
    print(json.dumps(told if isinstance(source, Path) else told[source.task.name]))


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
