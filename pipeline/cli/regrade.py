"""``tomrl regrade``: what recorded answers score, by the rules of the papers or this project's."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.reading import TABLE
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal


class Match(StrEnum):
    """How an answer is found and compared."""

    STRICT = "strict"
    EXPANDED = "expanded"
    TAGS = "tags"


AnswersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=f"{TABLE} Columns: response (or model_answer), answer, and where "
        "there are any: id, story, question, choices, order (or question_order).",
    ),
]


def regrade(
    source: AnswersArgument,
    task: Annotated[str, typer.Option(help="Whose questions were answered.")] = "hi_tom",
    match: Annotated[
        Match,
        typer.Option(
            help="strict and expanded read answers in JSON: strict as written, expanded with an "
            "underscore for a space (the base column of Study 1's Table 1). tags reads answers in "
            "tags, by the task's published rule."
        ),
    ] = Match.TAGS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Grade recorded answers again, and print their accuracy by belief order.

    Intervals are 95 %, by story.

    Example: `tomrl regrade answers.csv --task hi_tom --match expanded`
    """
    from pipeline.evaluate.answers import read_answers
    from pipeline.evaluate.regrade import regrade as grade_again
    from pipeline.tasks import registry

    chosen = registry.get(task)
    answers = read_answers(source, chosen, ("answer", "response"))
    result = grade_again(answers, chosen, match.value)
    missing = len(answers) - sum(result.found)
    if as_json:
        shares = {order: found.as_json() for order, found in result.by_order.items()}
        print(json.dumps({"accuracy": shares, "match": match.value, "without_answer": missing}))
        return
    table = make_table(
        f"{source.name}: {task}, match {match.value}", ["order"], ("right", "of", "%", "95 %")
    )
    for order, found in result.by_order.items():
        right = round(found.value * found.count)
        span = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
        table.add_row(order, str(right), str(found.count), f"{100 * found.value:.2f}", span)
    console = Terminal()
    console.print(table)
    if missing == len(answers):
        where = "tags" if match is Match.TAGS else "JSON"
        other = "expanded" if match is Match.TAGS else "tags"
        console.say(f"No response has an answer in {where}; is --match {other} meant?")
    elif missing:
        console.say(f"{missing} of {len(answers)} responses have no answer; they count as wrong.")
