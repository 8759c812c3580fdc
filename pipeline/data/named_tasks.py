"""The tasks and prompts that a study names: are they there, with the rows that it asks for?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from difflib import get_close_matches

from pipeline.config.data import Part
from pipeline.config.mistakes import Mistake, Place, wrong
from pipeline.config.references import at, repeated, section_at
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


def task_mistakes(content: object) -> Iterator[Mistake]:
    """Yield what is wrong with the tasks and prompts that a study's content names."""
    acquired = section_at(content, "acquire")
    for place, part in _parts(content):
        yield from _part_mistakes(place, part, acquired)
    yield from _misplaced(content)
    yield from _prompt_mistakes(content, acquired)


def _misplaced(content: object) -> Iterator[Mistake]:
    """Yield the side-checks that ask for no numbers, and the tasks of the suite that do."""
    for section, checks in (("tasks", False), ("side_checks", True)):
        for name, column in section_at(content, "suite", section).items():
            task, place = registry.find(at(column, "task")), ("suite", section, name, "task")
            if task is None or task.mathematics is checks:
                continue
            if checks:
                numbers = ", ".join(t.name for t in registry.all_tasks() if t.mathematics)
                yield wrong(place, task.name, f"{numbers}, because it checks arithmetic")
            else:
                text = f"found {task.name!r}, which asks for numbers; name it under"
                yield Mistake(place, f"{text} suite.side_checks")


def row_count(part: Part) -> int | None:
    """The rows that a part asks for; None where only the data itself can say."""
    chosen = part.orders, part.fold, part.rule
    everything = chosen == (None, None, None) and not part.where and not part.hard
    return part.limit or (registry.get(part.task).count if everything else None)


def _prompt_mistakes(content: object, acquired: dict[str, object]) -> Iterator[Mistake]:
    """Yield the prompts that stand in files which the study does not acquire."""
    for place in (("dataset", "prompt"), ("evaluate", "prompt"), ("evaluate", "base_prompt")):
        if at(content, *place) == ORIGINAL and acquired and SOURCE not in acquired:
            text = f"prompt {ORIGINAL} is taken from the files of source {SOURCE}; name it under"
            yield Mistake(place, f"{text} acquire, or choose another prompt")


def _parts(content: object) -> Iterator[tuple[Place, object]]:
    """Yield all parts of tasks that a study selects, with their places."""
    for key, combination in section_at(content, "dataset", "combinations").items():
        for side in ("train", "validation"):
            parts = at(combination, side)
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                yield ("dataset", "combinations", key, side, number), part
    for section in ("tasks", "side_checks"):
        for name, column in section_at(content, "suite", section).items():
            yield ("suite", section, name), column


def _part_mistakes(place: Place, part: object, acquired: dict[str, object]) -> Iterator[Mistake]:
    yield from _task_mistakes((*place, "task"), at(part, "task"), acquired)
    orders, where = at(part, "orders"), section_at(part, "where")
    yield from repeated(orders, (*place, "orders"))
    task = registry.find(at(part, "task"))
    if task is None:
        return
    asked = [o for o in orders if type(o) is int] if isinstance(orders, list) else []
    there = ", ".join(map(str, task.orders)) or "none, leave orders out"
    for order in asked:
        if order not in task.orders:
            yield wrong((*place, "orders"), order, f"those of task {task.name}: {there}")
    known = (*_OF_EVERY_EXAMPLE, *task.fields)
    for name in where:
        if name not in known:
            text = f"task {task.name} has no such field; allowed: {', '.join(known)}"
            yield Mistake((*place, "where", name), text)
    yield from row_mistakes(place, part, task, acquired)


def _task_mistakes(place: Place, name: object, acquired: dict[str, object]) -> Iterator[Mistake]:
    """Yield what is wrong with the name of a task: there is none, or its data is not acquired."""
    if not isinstance(name, str):
        return
    task = registry.find(name)
    if task is None:
        names = [each.name for each in registry.all_tasks()]
        near = get_close_matches(name, names, n=_NEAR, cutoff=0.0)
        more = f"and {len(names) - len(near)} more"
        yield wrong(place, name, f"{', '.join(near)}, {more}")
        return
    missing = [source for source in task.sources if source not in acquired]
    if missing and acquired:
        yield Mistake(place, f"task {name} needs {', '.join(missing)}; name it under acquire")
