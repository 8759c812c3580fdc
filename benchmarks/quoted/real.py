"""What pages say of a real model: the study ``smol``, its seeds, and how fast it is on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.quoted.one_run import printed_table
from benchmarks.quoted.over_seeds import COLUMNS as SEEDS_COLUMNS
from benchmarks.quoted.over_seeds import cells_of, contrasts, seeds
from benchmarks.quoted.text import made_by, made_on, paragraph, table
from benchmarks.stored import Stored
from pipeline.analysis.steps import STEPS
from pipeline.evaluate.records import PAIR_ACCURACY
from pipeline.formats.plural import percent

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
    """What each training changes in a real model over seeds, and what differs from its control."""
    groups = {(each.combination, each.arm): each for each in cells_of(found)}
    said = (
        f"Accuracy after the warm start, and below it changes in points since then; "
        f"`{found.study}`, means over {seeds(found)} seeds and 95 % intervals, "
        f"{found.verdicts[0].model}:",
    )
    return f"{paragraph(said)}\n{_seeds_table(found)}\n{contrasts(groups)}"


def benchmarks(found: Stored) -> str:
    """The result table; of figures beside accuracies, the chief ones."""
    rows = [
        row.model_copy(update={"beside": {k: v for k, v in row.beside.items() if k in BESIDE}})
        for row in found.rows
    ]
    return printed_table(found.model_copy(update={"rows": rows}))


def study_1(found: Stored) -> str:
    """What the results were made on, all of them, and what the last training changed."""
    return "\n".join((opening(found), benchmarks(found), step_by_step(found)))


def step_by_step(found: Stored) -> str:
    """What each training changed, column by column, beside all of them together."""
    return STEPS.markdown(found.chained)


def over_seeds(found: Stored) -> str:
    """What training changes from seed to seed."""
    said = (
        f"These results were made on: {made_on(found)}.",
        f"Accuracy after the warm start, and below it its changes in points since then: means over "
        f"{seeds(found)} seeds with 95 % intervals.",
    )
    return f"{paragraph(said)}\n{_seeds_table(found)}"


def _seeds_table(found: Stored) -> str:
    scores = {who.who: who.columns for who in found.standings}
    lines = (
        (
            f"`{each.combination}`",
            ARMS[each.arm],
            *(
                (f"{percent(scores[each.group][name].mean)} %" for name in SEEDS_COLUMNS)
                if each.arm == "warm"
                else each.changed()
            ),
        )
        for each in cells_of(found)
    )
    return table((("trained on", "by", *SEEDS_COLUMNS.values()), *lines), 0)


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
