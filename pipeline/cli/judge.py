"""``tomrl judge``: the verdict on recorded responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.base.errors import UserError
from pipeline.cli.cells import CELL, BenchmarkOption, answers_by_task, names_cell
from pipeline.cli.output import print_json
from pipeline.cli.reading import COLUMNS_HELP, TABLE, RawOption
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal

if TYPE_CHECKING:
    from pipeline.evaluate.regrade import Regraded
    from pipeline.judge.answers import AnswerVerdict
    from pipeline.judge.evidence import AgainstRule
    from pipeline.judge.foreign import ForeignAnswers
    from pipeline.judge.signatures import Signature
    from pipeline.judge.verdict import Verdict

    Judged = tuple[Verdict, Sequence[Signature]]

RULES_SHOWN = 6
_GRADED = ("answer", "response")
"""What every row must have to be graded."""


class Match(StrEnum):
    """A way to find and compare answers."""

    STRICT = "strict"
    EXPANDED = "expanded"
    TAGS = "tags"


def judge(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|CELL",
            help=f"{TABLE} Columns: story, question, answer and response; optional are id, "
            "choices and order. Other usual names are known, prompts and chats are taken apart. "
            f"With --match, response and answer are enough. Or {CELL}.",
        ),
    ],
    benchmark: BenchmarkOption = None,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    raw: RawOption = None,
    before: Annotated[
        Path | None,
        typer.Option(help="What the same model answered before training, to compare with."),
    ] = None,
    match: Annotated[
        Match | None,
        typer.Option(
            help="Instead of the verdict, the accuracy by belief order. strict and expanded read "
            "answers in JSON: strict as written, expanded with an underscore taken for a space "
            "(the base column of Study 1's Table 1). tags reads answers in tags, by the task's "
            "published rule."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON: answers, by, explained, found, answered, profile, reasoning, "
            "evidence, signatures; with --match: accuracy.",
        ),
    ] = False,
) -> None:
    """Judge what answers follow: beliefs, a simpler mind or a rule; and if reasoning is faithful.

    Answers are read in the forms that models give them. Where one is read in fewer than 90 % there
    is no verdict. Rows without a story are joined with the questions of --benchmark by id, or by
    their text. Intervals are 95 %, by story. docs/verdict.md defines the verdicts.

    Example: `tomrl judge responses.jsonl --benchmark hi_tom`, `tomrl judge mini/nano-cued` or
    `tomrl judge answers.csv --match expanded`
    """
    if match is not None and before is not None:
        raise UserError("--before is for the verdict; leave out --match")
    if not names_cell(source):
        file = _file(source, benchmark, columns, raw, match)
        if match is None:
            _judge_file(file, before, as_json=as_json)
        else:
            _grade_file(file, match, as_json=as_json)
        return
    of_files = {"--before": before, "--columns": columns, "--raw": raw, "--match": match}
    for option, given in of_files.items():
        if given is not None:
            raise UserError(
                f"{option} goes with a file; of a cell the report has accuracies, and what "
                "training did to its responses: tomrl report"
            )
    judged = dict(_judge_cell(str(source), benchmark))
    if as_json:
        print_json({task: _as_json(*found) for task, found in judged.items()})
        return
    for task, found in judged.items():
        Terminal().say(f"{source}, {task}:")
        _show(*found)


def _file(
    source: Path, benchmark: str | None, columns: str | None, raw: Path | None, match: Match | None
) -> ForeignAnswers:
    from pipeline.evaluate.naming import parse_columns
    from pipeline.judge.counted import NEEDED
    from pipeline.judge.foreign import ForeignAnswers

    needed = NEEDED if match is None else _GRADED
    return ForeignAnswers.of(source, benchmark, parse_columns(columns), raw, needed)


def _judge_file(file: ForeignAnswers, before: Path | None, *, as_json: bool) -> None:
    from pipeline.judge.counted import reasons_of
    from pipeline.judge.signatures import response_collapse, single_signatures

    judged = file.judged()
    signatures = single_signatures(judged.items, judged.reasons)
    if before is not None:
        signatures.append(response_collapse(reasons_of(before, file.task), judged.reasons))
    if as_json:
        failed = {"failed": len(judged.failed)} if judged.failed else {}
        print_json(_as_json(judged.verdict, signatures) | file.as_json() | failed)
        return
    console = Terminal()
    for line in file.said():
        console.say(line)
    if judged.failed:
        why = ", ".join(dict.fromkeys(judged.failed))[:200]
        console.say(f"never answered  {len(judged.failed)} of the questions ({why}); left out.")
    _show(judged.verdict, signatures)


def _grade_file(file: ForeignAnswers, match: Match, *, as_json: bool) -> None:
    """Print accuracy by belief order, by the rules of the papers or this project's."""
    from pipeline.evaluate.regrade import regrade

    graded = regrade(file.read(_GRADED), file.task, match.value)
    if as_json:
        shares = {order: found.as_json() for order, found in graded.by_order.items()}
        missing = graded.found.count(False)
        print_json({"accuracy": shares, "match": match.value, "without_answer": missing})
    else:
        _show_graded(graded, f"{file.path.name}: {file.task.name}", match)


def _show_graded(graded: Regraded, name: str, match: Match) -> None:
    missing, all_answers = graded.found.count(False), len(graded.found)
    table = make_table(f"{name}, match {match.value}", ["order"], ("right", "of", "%", "95 %"))
    for order, found in graded.by_order.items():
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


def _judge_cell(name: str, benchmark: str | None) -> Iterator[tuple[str, Judged]]:
    from pipeline.judge.signatures import single_signatures
    from pipeline.judge.verdict import judge as judge_items

    for task, (items, used) in answers_by_task(name, benchmark).items():
        yield task, (judge_items(items, used=used), single_signatures(items))


def _as_json(found: Verdict, signatures: Sequence[Signature]) -> dict[str, Any]:
    return {**found.as_json(), "signatures": [signature.as_json() for signature in signatures]}


def _show(found: Verdict, signatures: Sequence[Signature]) -> None:
    from pipeline.evaluate.statistics import Estimate
    from pipeline.judge.answers import followed
    from pipeline.judge.followers import Kind
    from pipeline.judge.found import could_be_found
    from pipeline.judge.profile import profile_text

    def percent(share: Estimate) -> str:
        return f"{100 * share.value:.1f} ({100 * share.low:.0f}-{100 * share.high:.0f})"

    console = Terminal()
    follow = followed(found.answers.follow, found.answers.by)
    console.say(f"answers follow  {follow}: {found.answers.because}.")
    answers = found.answers
    if answers.read.count < answers.read.of:
        console.say(f"answers read    {answers.read.text()}; not in these:")
        for response in answers.read.examples:
            console.say(f"                {response!r}")
    if answers.follow == "unread":
        console.say(f"reasoning is    {found.reasoning.is_}: {found.reasoning.because}.")
        return
    if answers.contradicted:
        console.say(
            f"left out        {answers.contradicted} of the questions: the belief engine "
            "contradicts their labels."
        )
    if answers.profile:
        shown = profile_text([each.as_json() for each in answers.profile])
        console.say(f"faculties       {shown}.")
    best = next((each for each in answers.rules if each.rule == answers.best), None)
    if answers.follow in ("beliefs", "mixture", "by heart"):
        console.say(f"explained       {answers.explained:.1%} of the answers.")
    elif best is not None:
        fitted = ", on stories that it was not fitted to" if best.kind > Kind.LISTED else ""
        console.say(
            f"explained       {answers.explained:.1%} of the answers, by {best.rule!r}{fitted}."
        )
    console.say(f"could be found  {could_be_found(found.answers.found.as_json())}.")
    console.say(f"reasoning is    {found.reasoning.is_}: {found.reasoning.because}.")
    table = make_table(
        f"The {min(RULES_SHOWN, len(found.answers.rules))} best rules and minds, in % (95 % "
        "interval)",
        ["rule or mind"],
        (
            *("rule right", "answers right where the rule is", "right where it is wrong"),
            *("the rule's answer there", "questions there"),
        ),
    )
    for each in _shown(found.answers):
        table.add_row(
            each.rule,
            f"{100 * each.accuracy:.1f}",
            percent(each.where_right),
            percent(each.where_wrong),
            percent(each.copied),
            str(each.where_wrong.count),
        )
    console.print(table)
    for signature in signatures:
        mark = "found" if signature.present else "not found"
        console.say(
            f"{signature.name}: {mark}: {signature.what}: {signature.value:.2f} "
            f"({signature.low:.2f} to {signature.high:.2f})"
        )


def _shown(found: AnswerVerdict) -> list[AgainstRule]:
    """The deciding or best-fitting rule, and the most accurate ones."""
    first = [each for each in found.rules if each.rule == (found.by or found.best)]
    others = [each for each in found.rules if each not in first]
    return [*first, *others][:RULES_SHOWN]
