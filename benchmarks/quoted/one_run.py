"""What README says of the study ``mini``: its table, and what the table shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import groupby

from rich.console import Console

from benchmarks.quoted.text import follows, follows_briefly, listed, paragraph, table, whole
from benchmarks.stored import Stored, Verdict
from pipeline.analysis.results import Figure, Row
from pipeline.analysis.table import notes_on, table_of
from pipeline.evaluate.records import PAIR_ACCURACY
from pipeline.evaluate.statistics import LEVEL
from pipeline.formats.plural import percent
from pipeline.judge.answers import said_to_follow
from pipeline.rules.learned import LEARNED
from pipeline.rules.words import what_it_does

WIDTH = 112
"""Columns of the terminal that a page shows."""

BALANCED = "balanced"
HEADINGS = ("answers follow", "explained", "true", "used", "reasoning is")


def result_table(found: Stored) -> str:
    """The result table as ``tomrl report`` prints it, and above it the verdicts."""
    return f"{_verdicts(found)}\n{printed_table(found)}"


def printed_table(found: Stored) -> str:
    """The result table as ``tomrl report`` prints it."""
    screen = StringIO()
    console = Console(file=screen, width=WIDTH, color_system=None, force_terminal=False)
    console.print(table_of(found.title, found.rows, notes_on(found.rows)))
    shown = "\n".join(line.rstrip() for line in screen.getvalue().splitlines())
    return f"```\n{shown}\n```\n"


def _verdicts(found: Stored) -> str:
    """What answers follow, and what is known of reasoning, by cell and where need be by task."""
    cells = {each.cell for each in found.verdicts}
    where = ("cell", "task") if len(cells) < len(found.verdicts) else ("cell",)
    rows = (
        (
            *(getattr(each, name) for name in where),
            follows(each),
            f"{whole(each.explained)} %",
            "-" if each.true is None else f"{percent(each.true.value)} %",
            "-" if each.used is None else f"{percent(each.used.value)} %",
            each.reasoning,
        )
        for each in found.verdicts
    )
    return table(((*where, *HEADINGS), *rows), 0)


def first_screen(found: Stored) -> str:
    """Accuracy and verdict of each cell of one run, and what its table cannot say."""
    rows: dict[str, dict[str, Row]] = {}
    for row in found.rows:
        rows.setdefault(row.cell, {})[row.task] = row
    base, *trained = found.verdicts
    untrained = _scores(rows[trained[0].cell], "base")
    lines = [("-", *untrained, follows_briefly(base), base.reasoning)]
    lines += [
        (
            f"`{each.combination}`",
            *_scores(rows[each.cell], "trained"),
            follows_briefly(each),
            each.reasoning,
        )
        for each in trained
    ]
    heads = ("trained on", *COLUMNS.values(), "both of a pair", "answers follow", "reasoning is")
    said = (
        *of_minds(found.verdicts),
        "This is one run: another processor or seed may end otherwise.",
    )
    return f"Accuracy in %, before training and after it:\n\n{table((heads, *lines), 0)}\n" + (
        paragraph(said)
    )


COLUMNS = {"rule_right": "where the earliest exit is right", "rule_wrong": "where it is wrong"}
"""The columns that the table shows, in words."""


def _scores(rows: Mapping[str, Row], when: str) -> tuple[str, ...]:
    """The figures of a line, ``base`` or ``trained``."""
    shares = [getattr(rows[name], when) for name in COLUMNS]
    shares.append(getattr(rows["pairs"].beside[PAIR_ACCURACY], when))
    return tuple("-" if share is None else percent(share) for share in shares)


def what_it_shows(found: Stored) -> str:
    """What one run shows, in sentences."""
    base, *trained = found.verdicts
    parts = [f"Before training, {_of_answers(base)}."]
    for each in trained:
        changes = _changes([row for row in found.rows if row.cell == each.cell])
        parts.append(f"Trained on `{each.combination}`, {_of_answers(each)}. {changes}")
    parts += [*_pairs(found), *_of_reasoning(found)]
    beliefs = base.found["beliefs"]
    parts.append(
        "No accuracy would have been enough to find beliefs."
        if beliefs is None
        else f"Had a model followed beliefs and been right on {percent(beliefs)} % of these "
        "questions, the verdict would say so with probability 0.8."
    )
    count = len(found.verdicts)
    parts.insert(count, " ".join(of_minds(found.verdicts)))
    return f"{paragraph(filter(None, parts[: count + 1]))}\n{paragraph(parts[count + 1 :])}"


def of_minds(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield what the rules and minds do that answers follow, where that is in words."""
    kinds = {"simpler mind": "mind", "rule": "rule"}
    named = dict.fromkeys((each.answers, each.by or "") for each in verdicts)
    for answers, name in named:
        does = what_it_does(name)
        if answers in kinds and does and not name.startswith(LEARNED):
            yield f"The {kinds[answers]} *{name}* {does}."


def _of_answers(found: Verdict) -> str:
    """What the answers of a cell follow, as a clause."""
    if found.by is None:
        said = said_to_follow(found.answers, None)
        return f"{said}; the best rule or mind tells {whole(found.explained)} % of them"
    kind = "rule" if found.answers == "rule" else found.answers
    said = (
        f"answers follow the {kind} *{found.by}*: {whole(found.explained)} % of them are explained"
    )
    if found.copied is None:
        return said
    return f"{said}, and where it is wrong {whole(found.copied.value)} % are its own"


def _changes(rows: Sequence[Row]) -> str:
    """The changes of a cell that hold after correction."""
    if all(row.table_p_value is None for row in rows):
        return ""
    figures = [each for row in rows for each in _figures(row)]
    held = [_change(name, figure) for name, figure in figures if _holds(figure)]
    return (
        f"After correction for all changes of the table, accuracy {listed(held)}."
        if held
        else "No change of its scores holds after correction for all changes of the table."
    )


def _figures(row: Row) -> Iterator[tuple[str, Row | Figure]]:
    yield f"`{row.task}`", row
    for name, figure in row.beside.items():
        yield f"`{row.task}` ({name})", figure


def _holds(figure: Row | Figure) -> bool:
    return figure.table_p_value is not None and figure.table_p_value < 1 - LEVEL


def _change(name: str, figure: Row | Figure) -> str:
    moved = figure.change or 0.0
    verb = "rises" if moved > 0 else "falls"
    return f"{verb} by {100 * abs(moved):.1f} points on {name}"


def _pairs(found: Stored) -> Iterator[str]:
    """Yield how many counterfactual pairs are answered right."""
    rows = [row for row in found.rows if PAIR_ACCURACY in row.beside]
    both = {row.combination: row.beside[PAIR_ACCURACY] for row in rows}
    before = {each.base for each in both.values()}
    if len(before) != 1 or None in before:
        return
    after = listed(
        [f"{percent(each.trained or 0.0)} % after `{name}`" for name, each in both.items()]
    )
    yield (
        "Of two stories that differ in one event, both are answered right in "
        f"{percent(before.pop() or 0.0)} % of the pairs before training, {after}."
    )


def _of_reasoning(found: Stored) -> Iterator[str]:
    """Yield what is known of the reasoning."""
    words = [
        f"`{word}` {listed([_called(each) for each in cells])}"
        for word, cells in groupby(found.verdicts, lambda each: each.reasoning)
    ]
    yield f"The reasoning is {'; '.join(words)}."
    true = [f"{percent(v.true.value)} % {_called(v)}" for v in found.verdicts if v.true]
    if true:
        yield f"Of all that the responses state, this is true: {listed(true)}."
    used = [f"{percent(v.used.value)} % {_called(v)}" for v in found.verdicts if v.used]
    if used:
        yield (
            "Where a line on who saw what is edited so that another answer follows, so many of the "
            f"answers do: {listed(used)}."
        )


def _called(found: Verdict) -> str:
    return f"after `{found.combination}`" if found.combination else "before training"


def minds_on_balanced(found: Stored, page: str) -> str:
    """What pays on the set that no rule solves.

    Args:
        found: The results.
        page: Where the page on verdicts is, from where this is read.
    """
    here = found.training[BALANCED]
    minds = sorted(here.minds.items(), key=lambda each: -each[1])
    named = listed([f"*{name}* {percent(share)}" for name, share in minds])
    return paragraph(
        (
            f"On the {here.rows:,} training questions of `{BALANCED}`, boosted trees that were "
            f"fitted to other stories of the set are right on {percent(here.learned.accuracy)} %, "
            f"the best list of rules on {percent(here.learned.readable_accuracy)} %, and the best "
            f"listed rule, *{here.rule.rule}*, on {percent(here.rule.accuracy)} %.",
            f"[Simpler minds]({page}#answers-follow) follow who knows what as far as they go, and "
            f"are not filtered out: they are right on these shares, in %: {named}.",
            "As only orders 1 and 2 are asked, *two orders* lacks nothing here.",
            *_on_columns(found),
        )
    )


def _on_columns(found: Stored) -> Iterator[str]:
    """Yield what learned rules score on the columns that they are to find nothing in."""
    for names, learned in found.columns.items():
        best = max(learned.accuracy, learned.readable_accuracy)
        columns = listed([f"`{name}`" for name in names.split(" and ")])
        said = f"Learned from other stories of {columns}, the better of both is right on"
        pairs = learned.pairs
        both = "" if pairs is None else f", and on both sides of {percent(pairs)} % of the pairs"
        yield f"{said} {percent(best)} %{both}."
