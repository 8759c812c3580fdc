"""What README and ``docs/smol.md`` say of the study ``smol``: a real model, trained in steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchmarks.quoted.one_run import follows, result_table
from benchmarks.quoted.text import made_on, paragraph, percent, table
from benchmarks.stored import Stored, Verdict
from pipeline.analysis.results import Row
from pipeline.analysis.steps import StepChange, steps_markdown
from pipeline.analysis.table import change_text
from pipeline.evaluate.records import PAIR_ACCURACY
from pipeline.tom.minds import MINDS

COLUMNS = {
    "rule_right": "where the earliest exit is right",
    "rule_wrong": "where it is wrong",
    "hi_tom": "Hi-ToM",
}
"""The columns of README's table, in words."""

BESIDE = (PAIR_ACCURACY, "options")
ARMS = {
    "warm": "imitation of true reasoning",
    "grpo": "then GRPO",
    "random": "then GRPO with a random reward",
    "imitation": "then imitation",
}
"""How a cell is trained, in words, by the end of its key."""


def first_screen(found: Stored) -> str:
    """What each training makes of a real model, and what reinforcement learning changes."""
    base, *trained = _verdicts(found)
    rows = {(row.cell, row.task): row for row in found.rows}
    lines = [_base_line(base, trained[0], rows), *(_line(each, rows) for each in trained)]
    heads = ("trained on", "by", *COLUMNS.values(), "both of a pair", "no answer", "answers follow")
    return (
        f"Accuracy in %; `{found.study}`, one seed, {base.model}:\n\n{table((heads, *lines), 0)}\n"
        f"{paragraph((*_of_steps(found), *_stalls(found), *_of_minds(found)))}"
    )


def _verdicts(found: Stored) -> list[Verdict]:
    """The verdict on each cell's answers to the questions that it is trained on, the base first."""
    return list({each.cell: each for each in reversed(found.verdicts)}.values())[::-1]


def _line(found: Verdict, rows: Mapping[tuple[str, str], Row]) -> tuple[str, ...]:
    columns = [rows[found.cell, task] for task in COLUMNS]
    pairs = rows[found.cell, "pairs"].beside[PAIR_ACCURACY].trained
    silent = max(row.trained_no_answer or 0.0 for row in columns)
    return (
        *(f"`{found.combination}`", ARMS[found.cell.split("-")[-1]]),
        *(_text(row.trained) for row in columns),
        *(_text(pairs), _text(silent), _short(follows(found))),
    )


def _base_line(
    base: Verdict, first: Verdict, rows: Mapping[tuple[str, str], Row]
) -> tuple[str, ...]:
    """The base model's line, from the rows of the first cell that is trained from it."""
    columns = [rows[first.cell, task] for task in COLUMNS]
    pairs = rows[first.cell, "pairs"].beside[PAIR_ACCURACY].base
    silent = max(row.base_no_answer or 0.0 for row in columns)
    scores = (*(row.base for row in columns), pairs, silent)
    return ("-", "nothing", *map(_text, scores), _short(follows(base)))


def _short(name: str) -> str:
    """What answers follow, without the text of a learned rule."""
    return re.sub(r"(learned rule),.*(?=\))", r"\1", name)


def _text(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _of_steps(found: Stored) -> Iterator[str]:
    """Yield what RL with a reward for right answers changed since the warm start."""
    changes = {(each.cell, each.task): each for each in found.chained}
    for each in _verdicts(found):
        if each.cell.endswith("-grpo") and each.cell not in found.stalled:
            right, wrong, _ = (_moved(changes[each.cell, task]) for task in COLUMNS)
            yield (
                f"Since its warm start, GRPO on `{each.combination}` changes accuracy by {right} "
                f"points where the rule is right and by {wrong} where it is wrong (half the width "
                "of 95 % intervals)."
            )


def _stalls(found: Stored) -> Iterator[str]:
    """Yield which trainings stood still, and from which step on."""
    for each in _verdicts(found):
        if each.cell in found.stalled:
            step, accuracy = found.stalled[each.cell]
            yield (
                f"On `{each.combination}` it collapsed: from step {step} on all completions of a "
                f"prompt earn the same, {percent(accuracy)} % of them are right, and nothing is "
                "learned any more."
            )


def _moved(step: StepChange) -> str:
    return change_text(step.change, step.interval)


def _of_minds(found: Stored) -> Iterator[str]:
    """Yield what the simpler minds do that answers follow."""
    for name in dict.fromkeys(each.by for each in _verdicts(found) if each.by in MINDS):
        yield f"The mind *{name}* {MINDS[name or ''].lacks}."


def tables(found: Stored) -> str:
    """The verdicts and the result table; of figures beside accuracies, the chief ones."""
    rows = [
        row.model_copy(update={"beside": {k: v for k, v in row.beside.items() if k in BESIDE}})
        for row in found.rows
    ]
    return result_table(found.model_copy(update={"verdicts": _verdicts(found), "rows": rows}))


def step_by_step(found: Stored) -> str:
    """What each training changed, column by column, beside all of them together."""
    return steps_markdown(found.chained)


def opening(found: Stored) -> str:
    """What the results were made on."""
    return paragraph((f"These results were made on: {made_on(found)}.",))
