"""``tomrl tom``: solve, explain and check Theory-of-Mind questions by logic, without any model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Required, TypedDict, cast

import typer

from pipeline.cli.reading import read_input, refuse_same_file
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.errors import UserError
from pipeline.output import check_output, is_standard_output, write_output
from pipeline.plural import counted
from pipeline.tom import explain as explaining
from pipeline.tom.check import Agreement
from pipeline.tom.check import check as check_rows
from pipeline.tom.language import get_language
from pipeline.tom.parse.text import LONGEST_STORY, ParseError
from pipeline.tom.rules import Rules
from pipeline.tom.solve import Answer
from pipeline.tom.solve import solve as solve_question

app = typer.Typer(
    no_args_is_help=True,
    help="Answer Theory-of-Mind questions by logic: who believes what, and why. No model involved.",
    epilog="Example: `tomrl tom explain --benchmark hi_tom story.txt`",
)


class Row(TypedDict, total=False):
    """A line of an input file, of which the fields that a command needs have been checked."""

    id: str | int
    story: Required[str]
    question: str
    answer: str
    choices: list[str] | str | None
    order: int | None
    question_type: str


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
        metavar="IN.jsonl",
        help="One JSON object a line, with the fields story and question; optional are id and "
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
            "with id (the line number where the input has none), answer and reason. The answer is "
            "null where the story implies none; the reason then says why.",
        ),
    ],
    rules: RulesOption = RuleSet.UPSTREAM,
) -> None:
    """Answer every question of a file, and say which sentence decided it."""
    chosen = _rules(benchmark, rules)
    refuse_same_file(source, output)
    check_output(output)
    rows = list(_read_rows(source))
    answers = [
        {"id": row.get("id", number), "answer": found.answer, "reason": found.reason}
        for number, row in rows
        for found in [_solved(benchmark, row, chosen)]
    ]
    _write_rows(output, answers)
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
            help="A text file with one story, or a .jsonl file whose rows have a field story.",
        ),
    ],
    benchmark: BenchmarkOption,
    row: Annotated[
        int, typer.Option(min=1, help="Which line of a .jsonl file to explain, counted from 1.")
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
            metavar="IN.jsonl",
            help="One JSON object a line, with the fields story, question and answer (the label); "
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
    rows = [{**row, "line": number} for number, row in _read_rows(source, labelled=True)]
    report = check_rows(benchmark.value, rows, chosen)
    _write_rows(
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


def _solved(benchmark: Benchmark, row: Row, rules: Rules) -> Answer:
    try:
        return solve_question(
            benchmark.value, row["story"], row["question"], row.get("choices"), rules
        )
    except ParseError as error:
        return Answer(None, str(error))


def _story_of(source: Path, row: int) -> str:
    if source.suffix != ".jsonl":
        text = _decoded(source, read_input(source))
        _check_length(str(source), text)
        if not text.strip():
            raise UserError(f"{source} holds no story")
        return text
    for number, fields in _read_rows(source, question=False):
        if number == row:
            return str(fields["story"])
    raise UserError(f"{source} has no line {row}; choose another one with --row")


def _read_rows(
    source: Path, question: bool = True, labelled: bool = False
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a JSON-lines file, checked; blank lines are skipped."""
    needed = ["story", *(["question"] if question else []), *(["answer"] if labelled else [])]
    first_with: dict[str, int] = {}
    found = False
    for number, line in enumerate(read_input(source).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{source}:{number}"
        row = _checked(where, _parsed(where, _decoded(where, line)), needed)
        if "id" in row:
            earlier = first_with.setdefault(json.dumps(row["id"]), number)
            if earlier != number:
                raise UserError(f"{where}: id {row['id']!r} stands already in line {earlier}")
        found = True
        yield number, row
    if not found:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def _decoded(where: Path | str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: byte {error.start} is not UTF-8; convert the file") from None


def _parsed(where: str, line: str) -> dict[str, object]:
    try:
        row: object = json.loads(line)
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UserError(
            f"{where}: holds half of a surrogate pair (\\ud800 to \\udfff), which no text file can "
            "hold; remove or complete it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row


def _checked(where: str, row: Mapping[str, object], needed: Iterable[str]) -> Row:
    for name in needed:
        if name not in row:
            raise UserError(f"{where}: the field {name!r} is missing; needed: {', '.join(needed)}")
        if not isinstance(row[name], str):
            kind = type(row[name]).__name__
            raise UserError(f"{where}: the field {name!r} must be text, found {kind}")
    _check_length(where, str(row["story"]))
    if not isinstance(row.get("id", ""), str | int):
        raise UserError(f"{where}: the field 'id' must be text or a whole number")
    choices = row.get("choices")
    listed = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    if not (choices is None or isinstance(choices, str) or listed):
        raise UserError(f"{where}: the field 'choices' must be a list of texts, or one text")
    return cast(Row, row)


def _check_length(where: str, story: str) -> None:
    if len(story) > LONGEST_STORY:
        raise UserError(
            f"{where}: the story has {len(story):,} characters; allowed: {LONGEST_STORY:,}"
        )


def _write_rows(output: Path, rows: Iterable[Mapping[str, object]]) -> None:
    write_output(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
