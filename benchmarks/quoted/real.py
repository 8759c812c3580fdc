"""What pages say of a real model: the study ``smol``, its seeds, and how fast it is on a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from benchmarks.quoted.one_run import of_minds, result_table
from benchmarks.quoted.over_seeds import COLUMNS as SEEDS_COLUMNS
from benchmarks.quoted.over_seeds import cells_of, counted, seeds
from benchmarks.quoted.text import follows_briefly, made_by, made_on, paragraph, percent, table
from benchmarks.stored import Stored, Verdict
from pipeline.analysis.results import Row
from pipeline.analysis.steps import steps_markdown
from pipeline.analysis.table import change_text
from pipeline.evaluate.records import PAIR_ACCURACY

COLUMNS = {
    "rule_right": "where the earliest exit is right",
    "rule_wrong": "where it is wrong",
    "hi_tom": "Hi-ToM",
}
"""The columns of README's table, in words."""

BESIDE = (PAIR_ACCURACY, "options")
"""The chief figures beside accuracies."""

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
    rows: dict[str, dict[str, Row]] = {}
    for row in found.rows:
        rows.setdefault(row.cell, {})[row.task] = row
    # The base model's scores stand in the rows of every cell that is trained.
    untrained = _scores(rows[trained[0].cell], "base")
    lines = (
        (
            f"`{each.combination}`",
            _arm(each),
            *_scores(rows[each.cell], "trained"),
            follows_briefly(each),
            each.reasoning,
        )
        for each in trained
    )
    last = ("both of a pair", "no answer", "answers follow", "reasoning is")
    heads = ("trained on", "by", *COLUMNS.values(), *last)
    nothing = ("-", "nothing", *untrained, follows_briefly(base), base.reasoning)
    shown = table((heads, nothing, *lines), 0)
    said = (*_of_steps(found), *_stalls(found), *of_minds(_verdicts(found)))
    return f"Accuracy in %; `{found.study}`, one seed, {base.model}:\n\n{shown}\n{paragraph(said)}"


def _verdicts(found: Stored) -> list[Verdict]:
    """The verdict on each cell's answers to the questions that it is trained on, the base first."""
    first: dict[str, Verdict] = {}
    for each in found.verdicts:
        first.setdefault(each.cell, each)
    return list(first.values())


def _arm(found: Verdict) -> str:
    return ARMS[found.cell.split("-")[-1]]


def _scores(rows: Mapping[str, Row], when: str) -> tuple[str, ...]:
    """The figures of a line, ``base`` or ``trained``, from a cell's rows by task."""
    columns = [rows[task] for task in COLUMNS]
    pairs = rows["pairs"].beside[PAIR_ACCURACY]
    silent = max(getattr(row, f"{when}_no_answer") or 0.0 for row in columns)
    shares = (*(getattr(row, when) for row in columns), getattr(pairs, when), silent)
    return tuple("-" if share is None else percent(share) for share in shares)


def _of_steps(found: Stored) -> Iterator[str]:
    """Yield what RL with a reward for right answers changed since the warm start."""
    changes = {(each.cell, each.task): each for each in found.chained}
    for each in _verdicts(found):
        if each.cell.endswith("-grpo") and each.cell not in found.stalled:
            steps = (changes[each.cell, task] for task in COLUMNS)
            right, wrong, _ = (change_text(step.change, step.interval) for step in steps)
            yield (
                f"Since its warm start, GRPO on `{each.combination}` changes accuracy by {right} "
                f"points where the rule is right and by {wrong} where it is wrong (± half of "
                "95 % intervals)."
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


def tables(found: Stored) -> str:
    """The chief verdict on each cell, and the result table."""
    return benchmarks(found.model_copy(update={"verdicts": _verdicts(found)}))


def benchmarks(found: Stored) -> str:
    """All verdicts and the result table; of figures beside accuracies, the chief ones."""
    rows = [
        row.model_copy(update={"beside": {k: v for k, v in row.beside.items() if k in BESIDE}})
        for row in found.rows
    ]
    return result_table(found.model_copy(update={"rows": rows}))


def study_1(found: Stored) -> str:
    """What the results were made on, all of them, and what the last training changed."""
    return "\n".join((opening(found), benchmarks(found), step_by_step(found)))


def step_by_step(found: Stored) -> str:
    """What each training changed, column by column, beside all of them together."""
    return steps_markdown(found.chained)


def over_seeds(found: Stored) -> str:
    """What training changes from seed to seed, and in how many seeds a verdict is the same."""
    scores = {who.who: who.columns for who in found.standings}
    chief = found.model_copy(update={"verdicts": _verdicts(found)})
    lines = (
        (
            f"`{each.combination}`",
            ARMS[each.arm],
            *(
                (f"{percent(scores[each.group][name].mean)} %" for name in SEEDS_COLUMNS)
                if each.arm == "warm"
                else each.changed()
            ),
            counted(chief, each),
            counted(chief, each, attrgetter("reasoning")),
        )
        for each in cells_of(found)
    )
    heads = ("trained on", "by", *SEEDS_COLUMNS.values(), "answers follow", "reasoning is")
    said = (
        f"These results were made on: {made_on(found)}.",
        f"Accuracy after the warm start, and below it its changes in points since then: means over "
        f"{seeds(found)} seeds with 95 % intervals, and in how many seeds a verdict is the same.",
    )
    return f"{paragraph(said)}\n{table((heads, *lines), 0)}"


def opening(found: Stored) -> str:
    """What the results were made on."""
    return paragraph((f"These results were made on: {made_on(found)}.",))


def speed(found: Mapping[str, Any]) -> str:
    """How fast a real model answers and learns on a CPU, from what ``real_model`` measured."""
    step, imitated = found["step"], found["imitation"]
    rows = [
        *(
            _faster(f"answers, {row['precision']}", "transformers' `generate`", "generate", row)
            for row in found["answers"]
        ),
        _faster("a GRPO step, bfloat16", "TRL", "trl", step),
        _faster("a step of imitation, bfloat16", "transformers' modules", "transformers", imitated),
    ]
    heads = ("what", "here, s", "beside", "there, s", "times faster (each round)")
    ours, theirs = (step[name] / 1e9 for name in ("ours_peak", "trl_peak"))
    made = (
        f"Made on: {made_by(found['commit'], found['processor'], found['libraries'])}; "
        f"{found['threads']} threads. Medians of rounds in turns. At its peak the process that "
        f"takes GRPO steps held {ours:.1f} GB, TRL's {theirs:.1f} GB."
    )
    return f"{table((heads, *rows), 0)}\n{paragraph((made,))}"


def _faster(what: str, beside: str, name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    ratio = f"{row['ratio']:.1f} ({row['ratio_low']:.1f}-{row['ratio_high']:.1f})"
    return what, f"{row['ours_seconds']:.1f}", beside, f"{row[f'{name}_seconds']:.1f}", ratio
