"""Samples of what models answered, for people to read: what turned, and what a rule says too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.analysis.provenance import provenance
from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.rollouts import sampled
from pipeline.analysis.tables import Line
from pipeline.config.params import Cell
from pipeline.data.original import ORIGINAL, Frame
from pipeline.data.prompt import is_prefilled, maker
from pipeline.judge.columns import judged_together
from pipeline.judge.items import Item
from pipeline.judge.recorded import read_suite, recorded_items
from pipeline.model.chat import beginning
from pipeline.rules.listed import is_gold, rule_answers
from pipeline.rules.reading import read_all
from pipeline.tasks.example import OF_NO_TASK, Example

GAINED, LOST = "wrong to right", "right to wrong"
ALWAYS, NEVER = "right before and after", "wrong before and after"
RIGHT, WRONG = "right", "wrong"
KINDS = (GAINED, LOST, ALWAYS, NEVER, RIGHT, WRONG)
"""What became of an answer in training; the last two are of models without a base to compare."""

WrongAnswers = Mapping[str, Mapping[str, str]]
"""The wrong answers of each rule, by the id of the question."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of a cell.

    Attributes:
        cell: Its key.
        column: The column of the suite.
        place: The place of the question in its column.
        kind: One of :data:`KINDS`.
        item: The question with what was answered.
        before: The same question with what the base model answered; None for base models.
        rule: The rule that gives the same wrong answer: the one that the cell follows, or the best.
    """

    cell: str
    column: str
    place: int
    kind: str
    item: Item
    before: Item | None
    rule: str | None


Samples = Mapping[tuple[str, str], Sequence[Sample]]
"""All samples, by cell and column."""


@dataclass(frozen=True)
class Recorded:
    """All that was answered in a study.

    Attributes:
        items: By cell, then by column.
        wrong: What the rules answer wrong that verdicts name, by task.
        prompts: How each cell was asked, see :func:`asked_how`.
        provenance: What it was made from.
        runs: The folder of the cells' results.
        sampled: What trainings sampled, see :data:`pipeline.analysis.rollouts.SAMPLED`.
    """

    items: Mapping[str, Mapping[str, Sequence[Item]]]
    wrong: Mapping[str, WrongAnswers]
    prompts: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    runs: Path = Path()
    sampled: Sequence[Line] = ()


def read_recorded(
    results: Results, root: Path, frames: Mapping[str, Frame | None] | None = None
) -> Recorded:
    """Read what every cell answered; cells that were not run are left out.

    Args:
        results: The results of the study.
        root: The checkout.
        frames: The published frames of prompt styles that have one.

    Raises:
        UserError: If a file is missing or damaged.
    """
    study, columns = results.params.study.name, results.params.suite.tasks
    suite = read_suite(root / "data" / study / "suite", columns)
    runs = root / "runs" / study
    return Recorded(
        items={
            key: recorded_items(runs / key / "evaluate", suite, f"evaluate@{key}")
            for key, result in results.cells.items()
            if result.was_run
        },
        wrong={
            task: _wrong_answers(
                [example for name in names for example in suite[name]],
                {rule for each in results.cells.values() if (rule := _rule_of(each, task))},
            )
            for task, names in judged_together(columns).items()
        },
        prompts={key: asked_how(r.cell, frames or {}) for key, r in results.cells.items()},
        provenance=provenance(results, root),
        runs=runs,
        sampled=sampled(results, root),
    )


def asked_how(cell: Cell, frames: Mapping[str, Frame | None]) -> str:
    """The prompt of a cell with the words STORY and QUESTION where they stand in it."""
    style, task = cell.evaluate.prompt, OF_NO_TASK
    if style == ORIGINAL and frames.get(style) is None:
        return f"the published prompt {style}"
    blank = Example(benchmark="", task=task, story="STORY", question="QUESTION", answer="")
    messages = maker(style, frames.get(style))(blank)
    begun = beginning(think=cell.evaluate.think) if is_prefilled(style) else ""
    said = [f"{message['role']}: {message['content']}" for message in messages]
    programs = [f"by the prompt program {name}" for name in cell.evaluate.programs]
    return "\n\n".join([*said, f"assistant: {begun}", *programs])


def _wrong_answers(examples: Sequence[Example], rules: Container[str]) -> WrongAnswers:
    found: dict[str, dict[str, str]] = {}
    for rule, answers in rule_answers(read_all(examples), rules).items():
        given = zip(examples, answers, strict=True)
        found[rule] = {e.id: a for e, a in given if a is not None and not is_gold(a, e)}
    return found


def every_sample(results: Results, recorded: Recorded) -> Samples:
    """Every answer that was recorded, in the order of the questions."""
    judged = judged_together(results.params.suite.tasks)
    task_of = {column: task for task, columns in judged.items() for column in columns}
    return {
        (key, column): list(
            _samples(results, recorded, results.cells[key], column, task_of[column])
        )
        for key, items in recorded.items.items()
        for column in items
    }


def choose(samples: Samples, count: int) -> list[Sample]:
    """``count`` answers of each kind, and as many of a rule, by cell and column.

    Which they are depends on the questions' ids alone, so that cells show the same ones where they
    can.
    """
    return [sample for each in samples.values() for sample in _chosen(each, count)]


def _chosen(samples: Iterable[Sample], count: int) -> Iterator[Sample]:
    taken: dict[str, int] = defaultdict(int)
    for sample in sorted(samples, key=lambda each: each.item.example.id):
        groups = [sample.kind, *(["rule"] if sample.rule else [])]
        if any(taken[group] < count for group in groups):
            for group in groups:
                taken[group] += 1
            yield sample


def _samples(
    results: Results, recorded: Recorded, result: CellResult, column: str, task: str
) -> Iterator[Sample]:
    items = recorded.items[result.key][column]
    before: Sequence[Item | None] = [None] * len(items)
    if result.cell.combination is not None:
        of_base = recorded.items.get(results.base_of(result).key)
        before = before if of_base is None else of_base[column]
    rule = _rule_of(result, task)
    wrong = recorded.wrong[task].get(rule, {}) if rule else {}
    for place, (item, was) in enumerate(zip(items, before, strict=True)):
        answer = wrong.get(item.example.id)
        followed = rule if answer is not None and item.says(answer) else None
        yield Sample(result.key, column, place, _kind(item, was), item, was, followed)


def _rule_of(result: CellResult, task: str) -> str | None:
    """The rule that a cell's answers follow, or else the best one."""
    verdict = result.verdicts.get(task)
    if verdict is None:
        return None
    listed = [rule["rule"] for rule in verdict.listed]
    return verdict.by if verdict.by in listed else next(iter(listed), None)


def _kind(item: Item, before: Item | None) -> str:
    if before is None:
        return RIGHT if item.right else WRONG
    if item.right:
        return ALWAYS if before.right else GAINED
    return LOST if before.right else NEVER
