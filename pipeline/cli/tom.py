"""``tomrl tom``: solve, explain and check Theory-of-Mind questions by logic, without any model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.cli.output import JsonOption, check_output, is_standard_output, print_json
from pipeline.cli.reading import TABLE, read_input, refuse_same_file
from pipeline.cli.rows import Row, check_length, read_stories, write_rows
from pipeline.cli.stories import stories
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import counted
from pipeline.formats.tables import is_table
from pipeline.tom import explain as explaining
from pipeline.tom.check import Agreement, Disagreement
from pipeline.tom.check import check as check_rows
from pipeline.tom.claims.reader import read_story
from pipeline.tom.language import LANGUAGES, PLAIN, UPSTREAM, get_language, language_of
from pipeline.tom.parse.text import ParseError, without_options
from pipeline.tom.question import asked_about
from pipeline.tom.rules import Rules
from pipeline.tom.solve import Answer, split_choices
from pipeline.tom.solve import solve as solve_question

app = typer.Typer(
    no_args_is_help=True,
    help="Answer Theory-of-Mind questions by logic: who believes what, and why. Needs no model.",
    epilog="Example: `tomrl tom explain --benchmark hi_tom story.txt`",
)


app.command()(stories)

BenchmarkOption = Annotated[
    str,
    typer.Option(
        "--benchmark",
        "-b",
        metavar="TASK",
        help=f"Whose words the stories are in: {', '.join(LANGUAGES)}, or one of their tasks.",
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


@app.command(epilog="Example: tomrl tom solve -b tomi questions.jsonl -o answers.jsonl")
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
) -> None:
    """Answer every question of a file, and say which sentence decided it."""
    language, chosen = _language(benchmark)
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
    "tomrl tom explain -b tomi questions.jsonl --row 3"
)
def explain(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STORY", help="A text file with one story, or a table with a column story."
        ),
    ],
    benchmark: BenchmarkOption,
    row: Annotated[
        int, typer.Option(min=1, help="Which row of a table to explain; counted from 1.")
    ] = 1,
) -> None:
    """Show a story and, after each sentence that changes a belief, what everybody believes."""
    story = _story_of(source, row)
    language, chosen = _language(benchmark)
    try:
        text = explaining.explain(language, story, chosen)
    except ParseError as error:
        raise UserError(f"{source}: {error}") from None
    Terminal().say(text)


@app.command(
    epilog="Example: tomrl tom check --benchmark explore_tom labelled.jsonl -d disagreements.jsonl"
)
def check(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=f"{TABLE} Columns: story, question and answer (the label); "
            "optional are id, choices, order and question_type.",
        ),
    ],
    benchmark: BenchmarkOption,
    disagreements: Annotated[
        Path | None,
        typer.Option(
            "--disagreements",
            "-d",
            help="Where to write every row whose label differs from the solver's answer "
            "[default: IN.disagreements.jsonl beside the input].",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a benchmark's labels with what its stories imply, by belief order and type."""
    output = disagreements or source.with_suffix(".disagreements.jsonl")
    refuse_same_file(source, output)
    check_output(output)
    rows = read_stories(source, "story", "question", "answer")
    language, chosen = _language(benchmark)
    report = check_rows(language, ({**row, "line": number} for number, row in rows), chosen)
    _write_disagreements(output, report.disagreements)
    if as_json:
        print_json({benchmark: report.as_json()})
        return
    terminal = Terminal(stderr=is_standard_output(output))
    _print_agreement(report, terminal)
    terminal.say(f"{counted(len(report.disagreements), 'disagreement')} written to {output}")


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
) -> None:
    """Read what responses say about who believes what, and check it against their stories.

    A response to a story that is not in the benchmark's words has no claims.
    """
    language, chosen = _language(benchmark)
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


def _language(benchmark: str) -> tuple[str, Rules]:
    """The language of a benchmark or task, with the rules of its labels."""
    language = language_of(benchmark)
    if language is None:
        raise UserError(
            f"--benchmark {benchmark}: the engine does not read its stories; allowed: "
            f"{', '.join(LANGUAGES)}, and tasks in their words such as hi_tom_style"
        )
    return language.name, language.rules_named(PLAIN if "_style" in benchmark else UPSTREAM)


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
