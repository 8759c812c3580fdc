"""``tomrl audit``: flaws of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pipeline.base.progress import ProgressReport
from pipeline.cli.output import check_output, is_standard_output, write_output
from pipeline.cli.reading import RawOption
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.data import AuditSettings
from pipeline.data.questions import examples_of
from pipeline.formats.plural import percent

if TYPE_CHECKING:
    from pipeline.audit.records import Audit, Baselines, ColumnAudit, Leak, RuleGroup

_FEW_TYPES = 4
_GROUPS_IN_TABLE = 5  # so many fit on 80 columns
_RESPONSE_WIDTH = 30  # a constant may be as long as a sentence


def audit(
    tasks: Annotated[
        list[str],
        typer.Argument(metavar="TASK", help="Registered tasks; a wrong name lists them all."),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(help="A task that is trained on; repeat the option for several."),
    ] = None,
    raw: RawOption = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Also write everything, ids included, as JSON to this file, or to -."),
    ] = None,
) -> None:
    """Find what a data set gives away: fixed rules that solve it, cheats, contradictions, leaks.

    A rule is scored on every row. Where it is undefined it counts as wrong; "or guess" and brackets
    show its score with a blind guess there. A rule is flagged if it beats the better of chance
    and majority by 20 points with p < 0.05, a word if I(Z;Y)/H(Y) is 0.15 or more. A constant is
    the same answer to everything, found by search. A cheat names several answers at once or repeats
    what it was given. Published grading rules reward both more than a strict match does.

    Examples: `tomrl audit hi_tom`, or to see whether Study 1's tests are in its training set:
    `tomrl audit hi_tom_order4 explore_tom --against tom_rl_train`
    """
    from pipeline.audit.cheats import won_without_answer
    from pipeline.audit.contamination import Fingerprints
    from pipeline.audit.records import Audit
    from pipeline.audit.sets import leakage, set_audit
    from pipeline.rules.reading import read_all

    if json is not None:
        check_output(json)
    asked, trained = dict.fromkeys(tasks), dict.fromkeys(against or ())
    tests, columns, overlaps, training = {}, {}, {}, {}
    with ProgressReport("audit", len(asked) + len(trained), beside=True) as progress:
        for done, name in enumerate(asked, 1):
            tests[name] = examples_of(name, raw)
            columns[name] = set_audit(tests[name])
            progress.at(done, name)
        for done, name in enumerate(trained, 1 + len(asked)):
            examples = examples_of(name, raw)
            known = Fingerprints.of(examples, AuditSettings().ngram)
            overlaps[name] = {test: known.overlap(rows) for test, rows in tests.items()}
            training[name] = won_without_answer(read_all(examples))
            progress.at(done, name)
    found = Audit(columns=columns, training=training, leakage=leakage(overlaps))
    console = Terminal(stderr=json is not None and is_standard_output(json))
    _show(console, found)
    if json is not None:
        write_output(json, found.text())
        console.say(f"written: {json}")


def _show(console: Terminal, found: Audit) -> None:
    columns = found.columns
    console.print(_sizes_table(columns), _best_table(columns))
    if (learned := _learned_table(columns)) is not None:
        console.print(learned)
    for name, column in columns.items():
        console.print(*_rules_tables(name, column))
    console.print(_won_table(found))
    for name, leaks in found.leakage.items():
        console.print(_leak_table(name, leaks))
    _print_flags(console, columns)


def _sizes_table(columns: Mapping[str, ColumnAudit]) -> Table:
    numbers = ("rows", "stories", "unread", "repeats", "conflicts")
    table = make_table("Data sets", ["task"], numbers)
    for name, column in columns.items():
        conflicts = column.label_conflicts + sum(column.twin_conflicts.values())
        sizes = (column.rows, column.stories, column.unread, column.duplicates)
        table.add_row(name, *map(str, (*sizes, conflicts)))
    return table


def _best_table(columns: Mapping[str, ColumnAudit]) -> Table:
    title = "Best rule that learns nothing"
    table = make_table(title, ("task", "rule"), ("%", "wrong", "chance", "majority"))
    for name, column in columns.items():
        rules = column.baselines
        best, wrong = rules.best, len(column.shortcut_conflict.ids)
        shares = map(percent, (rules.chance, rules.majority))
        table.add_row(name, best.rule, percent(best.accuracy), str(wrong), *shares)
    return table


def _learned_table(columns: Mapping[str, ColumnAudit]) -> Table | None:
    found = {name: column.learned for name, column in columns.items() if column.learned}
    if not found:
        return None
    table = make_table(
        "Rules learned from other stories of the set",
        ("task", "list"),
        ("list %", "trees %", "wording %"),
    )
    for name, learned in found.items():
        wording = "-" if learned.wording is None else percent(learned.wording)
        shares = map(percent, (learned.readable_accuracy, learned.accuracy))
        table.add_row(name, learned.readable, *shares, wording)
    return table


def _won_table(audit: Audit) -> Table:
    """The best constants and the best cheat of each set, trained on or not."""
    title = "What wins without an answer (%)"
    table = make_table(title, ("task", "response"), ("published", "strict"))
    table.columns[1].max_width = _RESPONSE_WIDTH
    for name, found in audit.won_without_answer().items():
        for response, won in found.best().items():
            table.add_row(name, response, percent(won.published), percent(won.strict))
    return table


def _rules_tables(name: str, column: ColumnAudit) -> Iterator[Table]:
    """Yield accuracy by rule: of all rows, and by order and question type if they differ.

    The column ``or guess``, and the brackets, use a blind guess where the rule is undefined.
    """
    rules, groups = column.baselines, _groups(column.baselines)
    ranked = sorted(rules.rules, key=lambda rule: -rules.rules[rule])
    table = make_table(f"{name}: accuracy (%) of rules", ["rule"], ("covers", "all", "or guess"))
    for rule in ranked:
        accuracy = rules.rules[rule]
        shares = (rules.coverage[rule], accuracy, rules.with_guess.get(rule, accuracy))
        table.add_row(rule, *map(percent, shares))
    yield table
    for start in range(0, len(groups), _GROUPS_IN_TABLE):
        shown = dict(list(groups.items())[start : start + _GROUPS_IN_TABLE])
        table = make_table(f"{name}: accuracy (%) of rules, by question", ["rule"], shown)
        for rule in ranked:
            table.add_row(rule, *(_cell(group, rule) for group in shown.values()))
        yield table


def _groups(rules: Baselines) -> dict[str, RuleGroup]:
    """The rules' accuracies by order, if there are several, and by type, if by few."""
    orders, types = rules.by_order, rules.by_type
    groups = {
        "no order" if order == "None" else f"order {order}": group
        for order, group in orders.items()
        if len(orders) > 1
    }
    of_orders = {f"order_{order}" for order in orders}
    if 1 < len(types) <= _FEW_TYPES and not of_orders.issuperset(types):
        groups |= {kind or "no type": group for kind, group in types.items()}
    return groups


def _cell(group: RuleGroup, rule: str) -> str:
    """A rule's accuracy, and in brackets the one with a guess where it is undefined."""
    plain, guessed = group.rules[rule], group.with_guess.get(rule)
    return percent(plain) if guessed is None else f"{percent(plain)} ({percent(guessed)})"


def _leak_table(training: str, leaks: Mapping[str, Leak]) -> Table:
    kinds = {
        "rows": "rows",
        "leaked": "story",
        "normalised_story": "text",
        "structure": "events",
        "question": "question",
        "item": "both",
        "ngram": "n-gram",
    }
    title = f"Test rows that share with {training} the same ..."
    table = make_table(title, ["test"], (*kinds.values(), "n-grams (%)"))
    for test, leak in leaks.items():
        table.add_row(
            test, *(str(getattr(leak, kind)) for kind in kinds), percent(leak.ngram_share)
        )
    return table


def _print_flags(console: Terminal, columns: Mapping[str, ColumnAudit]) -> None:
    flags = [(name, flag) for name, column in columns.items() for flag in column.flags]
    if not flags:
        console.print("no flags")
    for name, flag in flags:
        numbers = f"{flag.value:.0f}"
        if flag.kind == "rule":
            numbers = f"{percent(flag.value)} % against {percent(flag.against)} %"
        elif flag.kind == "lexical":
            numbers = f"I(Z;Y)/H(Y) = {flag.value:.2f}"
        line = f"{name} ({flag.where}): {flag.kind} {flag.what!r}, {numbers}"
        console.print(f"[yellow]flag[/] {escape(line)}", highlight=False, soft_wrap=True)
