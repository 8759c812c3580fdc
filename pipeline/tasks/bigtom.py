"""BigToM: what somebody believes, or does, who saw or did not see that the world changed.

Source: cicl-stanford/procedural-evals-tom:data/bigtom/bigtom.csv (Gandhi et al. 2023, arXiv
2306.15448), 200 templates. As in the authors' ``generate_conditions.py`` a story is its first three
sentences, what the agent believes at first (or not: ``initial_belief``), and a change of the world
that the agent sees (``true_belief``) or not (``false_belief``); in the controls something happens
that changes nothing. Asked forward, from what was seen to a belief or an action, and backward, from
an action to the belief; backward, both controls are one. Every question has two options; the
authors shuffle them, here the right one is first in every other template.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.reading import SourceRow, read_lines
from pipeline.tasks.registry import Task, register
from pipeline.tasks.tombench import match_option

_COLUMNS = (
    *("story", "aware", "unaware", "action aware", "action unaware"),
    *("belief question", "desire question", "action question"),
    *("belief if aware", "desire if aware", "action if aware"),
    *("belief if unaware", "desire if unaware", "action if unaware"),
    *("event", "aware of event", "unaware of event", "author", "version"),
)
_ASKED = ("forward_belief", "forward_action", "backward_belief")
_CONDITIONS = ("true_belief", "false_belief", "true_control", "false_control")


def load(raw: Path) -> Iterator[Example]:
    """Yield 22 questions of each template, in upstream's order."""
    path = raw / "bigtom" / "bigtom.csv"
    for number, cells in enumerate(csv.reader(read_lines(path), delimiter=";")):
        row = SourceRow(f"{path}, line {number + 1}", dict(zip(_COLUMNS, cells, strict=True)))
        for initial, asked, condition in product((False, True), _ASKED, _CONDITIONS):
            if (asked, condition) != ("backward_belief", "false_control"):
                yield _example(row, asked, condition, initial=initial, first=number % 2 == 0)


def _example(row: SourceRow, asked: str, condition: str, *, initial: bool, first: bool) -> Example:
    knows = condition == "true_belief"
    what = asked.partition("_")[2]
    right, wrong = (
        row.text(f"{what} if {state}") for state in _states("aware", "unaware", first=knows)
    )
    return Example(
        benchmark="bigtom",
        task="bigtom",
        story=_story(row, asked, condition, initial=initial),
        question=row.text(f"{what} question"),
        answer=right,
        answer_kind="choice",
        choices=_states(right, wrong, first=first),
        order=1 if what == "belief" else None,
        question_type=f"{asked}:{condition}",
        meta={"asked": asked, "condition": condition, "initial_belief": initial},
    )


def _states(one: str, other: str, *, first: bool) -> tuple[str, str]:
    return (one, other) if first else (other, one)


def _story(row: SourceRow, asked: str, condition: str, *, initial: bool) -> str:
    sentences = [each.strip() for each in row.text("story").split(".")]
    told = [f"{each}." for each in sentences[: 4 if initial else 3]]
    control, seen = condition.endswith("control"), condition.startswith("true")
    told.append(row.text("event") if control else f"{sentences[4]}.")
    if asked.startswith("backward"):
        told.append(row.text("action aware" if condition == "true_belief" else "action unaware"))
    else:
        state = "aware" if seen else "unaware"
        told.append(row.text(f"{state} of event" if control else state))
    return " ".join(told)


register(
    Task(
        name="bigtom",
        benchmark="bigtom",
        title="BigToM",
        sources=("bigtom",),
        load=load,
        match=match_option,
        count=4400,
        choices_in_prompt=True,
        orders=(1,),
        fields=("asked", "condition", "initial_belief"),
    )
)
