"""``tomrl tom``: solve, explain and check Theory-of-Mind questions by logic, without any model."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.cli.output import check_output, is_standard_output
from pipeline.cli.reading import TABLE, read_input, refuse_same_file
from pipeline.cli.story_rows import InputRow, check_length, decoded, read_rows, write_rows
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import counted
from pipeline.formats.tables import is_table
from pipeline.tom import explain as explaining
from pipeline.tom.check import Agreement
from pipeline.tom.check import check as check_rows
from pipeline.tom.claims.story import read_story
from pipeline.tom.language import get_language
from pipeline.tom.parse.text import ParseError, without_options
from pipeline.tom.rules import Rules
from pipeline.tom.solve import Answer, split_choices
from pipeline.tom.solve import solve as solve_question

app = typer.Typer(
    no_args_is_help=True,
    help="Answer Theory-of-Mind questions by logic: who believes what, and why. No model involved.",
    epilog="Example: `tomrl tom explain --benchmark hi_tom story.txt`",
)


class Benchmark(StrEnum):
    """Whose language the stories are in."""

    HI_TOM = "hi_tom"
    TOMI = "tomi"
    EXPLORE_TOM = "explore_tom"


class RuleSet(StrEnum):
    """Which reading of the stories to take."""

    PLAIN = "plain"
    UPSTREAM = "upstream"
    RELEASED = "released"


BenchmarkOption = Annotated[
    Benchmark,
    typer.Option("--benchmark", "-b", help="Whose language the stories and questions are in."),
]
RulesOption = Annotated[
    RuleSet,
    typer.Option(
        "--rules",
        help="plain: as a person reads the story. upstream: as the benchmark's labels were made, "
        "with its generator's quirks. released: as ToMi's older, published archive was made.",
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
    rules: RulesOption = RuleSet.UPSTREAM,
) -> None:
    """Answer every question of a file, and say which sentence decided it."""
    chosen = _rules(benchmark, rules)
    refuse_same_file(source, output)
    check_output(output)
    rows = list(read_rows(source, "story", "question"))
    answers = [
        {"id": row.get("id", number), "answer": found.answer, "reason": found.reason}
        for number, row in rows
        for found in [_solved(benchmark, row, chosen)]
    ]
    write_rows(output, answers)
    unsolved = sum(row["answer"] is None for row in answers)
    Terminal(stderr=is_standard_output(output)).say(
        f"{counted(len(answers), 'answer')} written to {output}; {unsolved} without an answer"
    )


@app.command(
    epilog="Example: tomrl tom explain --benchmark hi_tom story.txt; or the third row of a file of "
    "questions: tomrl tom explain --benchmark tomi questions.jsonl --row 3"
)
def explain(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STORY",
            help="A text file with one story, or a table with a column story.",
        ),
    ],
    benchmark: BenchmarkOption,
    row: Annotated[
        int, typer.Option(min=1, help="Which row of a table to explain, counted from 1.")
    ] = 1,
    rules: RulesOption = RuleSet.UPSTREAM,
) -> None:
    """Show a story with what everybody believes after each sentence that changes a belief."""
    chosen = _rules(benchmark, rules)
    story = _story_of(source, row)
    try:
        text = explaining.explain(benchmark.value, story, chosen)
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
    rules: RulesOption = RuleSet.UPSTREAM,
) -> None:
    """Compare a benchmark's labels with what its stories imply, by belief order and type."""
    chosen = _rules(benchmark, rules)
    output = disagreements or source.with_suffix(".disagreements.jsonl")
    refuse_same_file(source, output)
    check_output(output)
    rows = [
        {**row, "line": number} for number, row in read_rows(source, "story", "question", "answer")
    ]
    report = check_rows(benchmark.value, rows, chosen)
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
            for found in report.disagreements
        ),
    )
    terminal = Terminal(stderr=is_standard_output(output))
    _print_agreement(report, terminal)
    terminal.say(f"{counted(len(report.disagreements), 'disagreement')} written to {output}")


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
    benchmark: BenchmarkOption = Benchmark.HI_TOM,
    rules: RulesOption = RuleSet.UPSTREAM,
) -> None:
    """Read what responses say about who believes what, and check it against their stories.

    A response to a story that is not in the benchmark's language has no claims.
    """
    chosen = _rules(benchmark, rules)
    refuse_same_file(source, output)
    check_output(output)
    rows = list(read_rows(source, "story", "question", "response"))
    read = [_claims(benchmark, row, chosen) for _, row in rows]
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


def _claims(benchmark: Benchmark, row: InputRow, rules: Rules) -> list[dict[str, object]] | None:
    """The claims of a response as rows; None where its story cannot be read."""
    language = get_language(benchmark.value)
    try:
        asked = language.question(without_options(row["question"]))
        thing = getattr(asked, "object", "")
        options = split_choices(row.get("choices"))
        story = read_story(language, row["story"], rules, thing).with_places(options)
    except (ParseError, KeyError):
        return None
    return [
        {**asdict(claim), "true": story.holds(claim)}
        for claim in story.claims(row["response"], thing)
    ]


def _print_agreement(report: Agreement, console: Terminal) -> None:
    for title, counts in (("belief order", report.by_order), ("question type", report.by_type)):
        heading = f"Labels that agree with the solver, by {title}"
        table = make_table(heading, [title], ("agree", "of", "%"))
        for name, (agreed, total) in counts.items():
            table.add_row(name, str(agreed), str(total), f"{100 * agreed / total:.1f}")
        if title == "belief order":
            table.add_section()
            share = f"{100 * report.share:.1f}"
            table.add_row("all", str(report.agreed), str(report.total), share)
        console.print(table)


def _rules(benchmark: Benchmark, name: RuleSet) -> Rules:
    try:
        return get_language(benchmark.value).rules_named(name.value)
    except ValueError as error:
        raise UserError(f"--rules: {error}") from None


def _solved(benchmark: Benchmark, row: InputRow, rules: Rules) -> Answer:
    try:
        return solve_question(
            benchmark.value, row["story"], row["question"], row.get("choices"), rules
        )
    except ParseError as error:
        return Answer(None, str(error))


def _story_of(source: Path, row: int) -> str:
    if not is_table(source):
        text = decoded(source, read_input(source))
        check_length(str(source), text)
        if not text.strip():
            raise UserError(f"{source} holds no story")
        return text
    for number, fields in read_rows(source, "story"):
        if number == row:
            return str(fields["story"])
    raise UserError(f"{source} has no row {row}; choose another one with --row")
