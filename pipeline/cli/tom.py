"""``tomrl tom``: solve, explain and check Theory-of-Mind questions by logic, without any model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.base.errors import UserError
from pipeline.cli.cells import CELL, items_by_task, names_cell
from pipeline.cli.output import JsonOption, check_output, is_standard_output, print_json
from pipeline.cli.reading import TABLE, read_input, refuse_same_file
from pipeline.cli.rows import Row, check_length, read_stories, write_rows
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import counted
from pipeline.formats.tables import is_table
from pipeline.tom import explain as explaining
from pipeline.tom.check import Agreement, Disagreement
from pipeline.tom.check import check as check_rows
from pipeline.tom.claims.reader import read_story
from pipeline.tom.language import LANGUAGES, get_language, language_of
from pipeline.tom.parse.text import ParseError, without_options
from pipeline.tom.question import asked_about
from pipeline.tom.rules import Rules
from pipeline.tom.solve import Answer, split_choices
from pipeline.tom.solve import solve as solve_question

if TYPE_CHECKING:
    from pipeline.judge.items import Item

app = typer.Typer(
    no_args_is_help=True,
    help="Answer Theory-of-Mind questions by logic: who believes what, and why. Needs no model.",
    epilog="Example: `tomrl tom explain --benchmark hi_tom story.txt`",
)


class RuleSet(StrEnum):
    """A reading of the stories."""

    PLAIN = "plain"
    UPSTREAM = "upstream"
    RELEASED = "released"


_LANGUAGES = f"Whose words the stories are in: {', '.join(LANGUAGES)}, or one of their tasks"
BenchmarkOption = Annotated[
    str, typer.Option("--benchmark", "-b", metavar="TASK", help=f"{_LANGUAGES}.")
]
CellBenchmarkOption = Annotated[
    str | None,
    typer.Option(
        "--benchmark", "-b", metavar="TASK", help=f"{_LANGUAGES}. For a cell, one of its tasks."
    ),
]
RulesOption = Annotated[
    RuleSet | None,
    typer.Option(
        "--rules",
        help="plain: as a person reads the story. upstream: as the benchmark's labels were made, "
        "with its generator's quirks. released: as ToMi's older, published archive was made.",
        show_default="upstream; plain for generated look-alikes",
    ),
]
InputArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=f"{TABLE} Columns: story and question; optional are id and "
        "choices (a list, or text like 'A. red_box, B. blue_jar').",
    ),
]


@app.command(
    epilog="Example: tomrl tom solve -b tomi questions.jsonl -o answers.jsonl --rules plain"
)
def solve(
    source: InputArgument,
    benchmark: BenchmarkOption,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the answers: one line per question, in the order of the input, "
            "with id (the number of its row where the input has none), answer and reason. The "
            "answer is null where the story implies none; the reason then says why.",
        ),
    ],
    rules: RulesOption = None,
) -> None:
    """Answer every question of a file, and say which sentence decided it."""
    language, chosen = _language(benchmark, rules)
    refuse_same_file(source, output)
    check_output(output)
    rows = list(read_stories(source, "story", "question"))
    answers = [
        {"id": row.get("id", number), "answer": found.answer, "reason": found.reason}
        for number, row in rows
        for found in [_solved(language, row, chosen)]
    ]
    write_rows(output, answers)
    unsolved = sum(row["answer"] is None for row in answers)
    Terminal(stderr=is_standard_output(output)).say(
        f"{counted(len(answers), 'answer')} written to {output}; {unsolved} without an answer"
    )


@app.command(
    epilog="Example: tomrl tom explain -b hi_tom story.txt; the third row of a file of questions: "
    "tomrl tom explain -b tomi questions.jsonl --row 3; or the third question of a cell, with what "
    "it answered: tomrl tom explain mini/nano-cued --row 3"
)
def explain(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STORY|CELL",
            help=f"A text file with one story, or a table with a column story. Or {CELL}.",
        ),
    ],
    benchmark: CellBenchmarkOption = None,
    row: Annotated[
        int,
        typer.Option(
            min=1, help="Which row of a table, or question of a cell, to explain; counted from 1."
        ),
    ] = 1,
    rules: RulesOption = None,
) -> None:
    """Show a story and, after each sentence that changes a belief, what everybody believes."""
    answered = None
    if names_cell(source):
        benchmark, answered = _asked(str(source), benchmark, row)
        story = answered.example.story
    else:
        story = _story_of(source, row)
    language, chosen = _language(_named(benchmark), rules)
    try:
        text = explaining.explain(language, story, chosen)
    except ParseError as error:
        raise UserError(f"{source}: {error}") from None
    terminal = Terminal()
    terminal.say(text)
    if answered is not None:
        asked, said = answered.example, "right" if answered.right else "wrong"
        terminal.say(f"\n{asked.question} {asked.answer}.\n{source}, {said}: {answered.response}")


@app.command(
    epilog="Example: tomrl tom check --benchmark explore_tom labelled.jsonl -d disagreements.jsonl"
)
def check(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|CELL",
            help=f"{TABLE} Columns: story, question and answer (the label); "
            f"optional are id, choices, order and question_type. Or {CELL}: the labels of its "
            "suite.",
        ),
    ],
    benchmark: CellBenchmarkOption = None,
    disagreements: Annotated[
        Path | None,
        typer.Option(
            "--disagreements",
            "-d",
            help="Where to write every row whose label differs from the solver's answer "
            "[default: IN.disagreements.jsonl beside the input; none for a cell].",
        ),
    ] = None,
    rules: RulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a benchmark's labels with what its stories imply, by belief order and type."""
    output = disagreements
    if not names_cell(source):
        output = disagreements or source.with_suffix(".disagreements.jsonl")
        refuse_same_file(source, output)
    if output is not None:
        check_output(output)
    if names_cell(source):
        by_task = _suite_rows(str(source), benchmark)
    else:
        rows = read_stories(source, "story", "question", "answer")
        by_task = {_named(benchmark): [{**row, "line": number} for number, row in rows]}
    reports = {
        task: check_rows(language, rows, chosen)
        for task, rows in by_task.items()
        for language, chosen in [_language(task, rules)]
    }
    found = [each for report in reports.values() for each in report.disagreements]
    if output is not None:
        _write_disagreements(output, found)
    if as_json:
        print_json({task: report.as_json() for task, report in reports.items()})
        return
    terminal = Terminal(stderr=output is not None and is_standard_output(output))
    for task, report in reports.items():
        if len(reports) > 1:
            terminal.say(f"{task}:")
        _print_agreement(report, terminal)
    where = "" if output is None else f" written to {output}"
    terminal.say(f"{counted(len(found), 'disagreement')}{where}")


def _write_disagreements(output: Path, disagreements: Iterable[Disagreement]) -> None:
    write_rows(
        output,
        (
            {
                "line": found.row["line"],
                "id": found.row.get("id", found.row["line"]),
                "question": found.row["question"],
                "label": found.row["answer"],
                "answer": found.answer,
                "reason": found.reason,
            }
            for found in disagreements
        ),
    )


@app.command(epilog="Example: tomrl tom claims responses.jsonl -o claims.jsonl")
def claims(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=f"{TABLE} Columns: story, question and response, as text; "
            "optional are id and choices (as for `tomrl tom solve`): places that can be claimed.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write one line per response: id and claims. A claim has holders "
            "(believers, outermost first; empty for the world), object, place, negated, when (end "
            "or earlier), true (by the engine), start and end (characters of the response).",
        ),
    ],
    benchmark: BenchmarkOption = "hi_tom",
    rules: RulesOption = None,
) -> None:
    """Read what responses say about who believes what, and check it against their stories.

    A response to a story that is not in the benchmark's words has no claims.
    """
    language, chosen = _language(benchmark, rules)
    refuse_same_file(source, output)
    check_output(output)
    rows = list(read_stories(source, "story", "question", "response"))
    read = [_claims(language, row, chosen) for _, row in rows]
    write_rows(
        output,
        (
            {"id": row.get("id", number), "claims": found or []}
            for (number, row), found in zip(rows, read, strict=True)
        ),
    )
    made = [claim for found in read if found for claim in found]
    unread = read.count(None)
    note = f"; the stories of {counted(unread, 'response')} could not be read" if unread else ""
    Terminal(stderr=is_standard_output(output)).say(
        f"{counted(len(made), 'claim')} in {counted(len(rows), 'response')} written to {output}, "
        f"{sum(bool(claim['true']) for claim in made)} of them true{note}"
    )


def _claims(name: str, row: Row, rules: Rules) -> list[dict[str, object]] | None:
    """The claims of a response as rows; None where its story cannot be read."""
    language = get_language(name)
    try:
        asked = language.question(without_options(row["question"]))
        thing = asked_about(asked)
        options = split_choices(row.get("choices"))
        story = read_story(language, row["story"], rules, thing).with_places(options)
    except (ParseError, KeyError):
        return None
    return [
        {**asdict(claim), "true": story.holds(claim)}
        for claim in story.claims(row["response"], thing)
    ]


def _print_agreement(report: Agreement, console: Terminal) -> None:
    counted_by = {"belief order": report.by_order, "question type": report.by_type}
    if {f"order_{order}": each for order, each in report.by_order.items()} == report.by_type:
        del counted_by["question type"]  # it says the same
    for title, counts in counted_by.items():
        heading = f"Labels that agree with the solver, by {title}"
        table = make_table(heading, [title], ("agree", "of", "%"))
        for name, (agreed, total) in counts.items():
            table.add_row(name, str(agreed), str(total), f"{100 * agreed / total:.1f}")
        if title == "belief order":
            table.add_section()
            share = f"{100 * report.share:.1f}"
            table.add_row("all", str(report.agreed), str(report.total), share)
        console.print(table)


def _language(benchmark: str, rules: RuleSet | None) -> tuple[str, Rules]:
    """The language of a benchmark or task, with the named rules or its labels'."""
    language = language_of(benchmark)
    if language is None:
        raise UserError(
            f"--benchmark {benchmark}: the engine does not read its stories; allowed: "
            f"{', '.join(LANGUAGES)}, and tasks in their words such as hi_tom_style"
        )
    labelled = RuleSet.PLAIN if "_style" in benchmark else RuleSet.UPSTREAM
    try:
        return language.name, language.rules_named((rules or labelled).value)
    except ValueError as error:
        raise UserError(f"--rules: {error}") from None


def _named(benchmark: str | None) -> str:
    if benchmark is None:
        raise UserError(
            "--benchmark: say whose words the stories of the file are in, such as -b hi_tom"
        )
    return benchmark


def _asked(name: str, benchmark: str | None, row: int) -> tuple[str, Item]:
    """A question of a cell with its answer, counted over its tasks in their order."""
    asked = [
        (task, item) for task, items in items_by_task(name, benchmark).items() for item in items
    ]
    if row > len(asked):
        raise UserError(f"--row {row}: {name} answered {counted(len(asked), 'question')}")
    return asked[row - 1]


def _suite_rows(name: str, benchmark: str | None) -> dict[str, list[dict[str, Any]]]:
    return {
        task: [{**asdict(item.example), "line": number} for number, item in enumerate(items, 1)]
        for task, items in items_by_task(name, benchmark).items()
        if language_of(task) is not None
    }


def _solved(language: str, row: Row, rules: Rules) -> Answer:
    try:
        return solve_question(language, row["story"], row["question"], row.get("choices"), rules)
    except ParseError as error:
        return Answer(None, str(error))


def _story_of(source: Path, row: int) -> str:
    if not is_table(source):
        try:
            text = read_input(source).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{source}: byte {error.start} is not UTF-8; convert the file"
            ) from None
        check_length(str(source), text)
        if not text.strip():
            raise UserError(f"{source} holds no story")
        return text
    for number, fields in read_stories(source, "story"):
        if number == row:
            return str(fields["story"])
    raise UserError(f"{source} has no row {row}; choose another one with --row")
