"""Checks of the tasks, prompts and row counts that a study names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from pipeline.config.data import Part, SideCheck
from pipeline.config.mistakes import Mistake, Place, wrong
from pipeline.config.sources import Source
from pipeline.config.study import Study
from pipeline.data.enough import row_mistakes
from pipeline.data.original import ORIGINAL, SOURCE
from pipeline.tasks import registry
from pipeline.tasks.example import Example

_NEAR = 8  # task names that an error offers; there are a hundred
_OF_EVERY_EXAMPLE = tuple(
    field.name
    for field in dataclasses.fields(Example)
    if field.name not in ("order", "choices", "meta", "story", "task")
)


def task_mistakes(study: Study) -> Iterator[Mistake]:
    for place, part in _parts(study):
        for mistake in _part_mistakes(part, study.acquire):
            yield mistake.within(*place)
    yield from _misplaced(study)
    prompts = {
        ("dataset", "prompt"): study.dataset.prompt,
        ("evaluate", "prompt"): study.evaluate.prompt,
        ("evaluate", "base_prompt"): study.evaluate.base_prompt,
    }
    for place, prompt in prompts.items():
        if prompt == ORIGINAL and SOURCE not in study.acquire:
            text = f"prompt {ORIGINAL} is taken from the files of source {SOURCE}; name it under"
            yield Mistake(place, f"{text} acquire, or choose another prompt")


def _misplaced(study: Study) -> Iterator[Mistake]:
    """Yield side-checks that ask for no numbers, and tasks of the suite that do."""
    for name, part in study.suite.columns.items():
        task, check = registry.find(part.task), isinstance(part, SideCheck)
        if task is None or task.mathematics is check:
            continue
        if check:
            place = ("suite", "side_checks", name, "task")
            numbers = ", ".join(t.name for t in registry.all_tasks() if t.mathematics)
            yield wrong(place, task.name, f"{numbers}, because it checks arithmetic")
        else:
            text = f"found {task.name!r}, which asks for numbers; name it under suite.side_checks"
            yield Mistake(("suite", "tasks", name, "task"), text)


def row_count(part: Part) -> int | None:
    """The number of rows of a part; None where only the data can tell."""
    chosen = part.orders, part.fold, part.rule
    everything = chosen == (None, None, None) and not part.where and not part.hard
    return part.limit or (registry.get(part.task).count if everything else None)


def _parts(study: Study) -> Iterator[tuple[Place, Part]]:
    for key, combination in study.dataset.combinations.items():
        sides = {"train": combination.train, "validation": combination.validation}
        for side, parts in sides.items():
            for number, part in enumerate(parts):
                yield ("dataset", "combinations", key, side, number), part
    for name, column in study.suite.columns.items():
        section = "side_checks" if isinstance(column, SideCheck) else "tasks"
        yield ("suite", section, name), column
    if study.suite.demonstrations is not None:
        yield ("suite", "demonstrations"), study.suite.demonstrations


def _part_mistakes(part: Part, acquired: Mapping[str, Source]) -> Iterator[Mistake]:
    task = registry.find(part.task)
    if task is None:
        names = [each.name for each in registry.all_tasks()]
        near = get_close_matches(part.task, names, n=_NEAR, cutoff=0.0)
        more = f"and {len(names) - len(near)} more"
        yield wrong(("task",), part.task, f"{', '.join(near)}, {more}")
        return
    if missing := [source for source in task.sources if source not in acquired]:
        text = f"task {part.task} needs {', '.join(missing)}; name it under acquire"
        yield Mistake(("task",), text)
    there = ", ".join(map(str, task.orders)) or "none, leave orders out"
    for order in part.orders or ():
        if order not in task.orders:
            yield wrong(("orders",), order, f"those of task {task.name}: {there}")
    known = (*_OF_EVERY_EXAMPLE, *task.fields)
    for name in part.where:
        if name not in known:
            text = f"task {task.name} has no such field; allowed: {', '.join(known)}"
            yield Mistake(("where", name), text)
    yield from row_mistakes(part, task, acquired)
