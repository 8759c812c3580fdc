"""Row counts against what a study asks for, before data are made.

A generated story of Hi-ToM's kind has one question of each belief order, so its rows can be
counted. The effect of filters is known in the stage ``dataset`` only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.config.data import Part
from pipeline.config.mistakes import Mistake, wrong
from pipeline.config.sources import HiTomSource, Source
from pipeline.formats.plural import counted
from pipeline.tasks.registry import Task
from pipeline.tom.language import language_of

_DEEPEST = 4  # belief order of Hi-ToM
_SPLITS = {"": "test", "_train": "train", "_validation": "validation"}
_FOUND = "hi_tom_style_found"
_KINDS = {"right": 1, "wrong": 1, "half": 2}


def row_mistakes(part: Part, task: Task, acquired: Mapping[str, Source]) -> Iterator[Mistake]:
    """Yield the reasons why a part has too few rows."""
    yield from _rule_mistakes(part, task)
    name = task.sources[0]
    split, source = _SPLITS.get(task.name.removeprefix(name)), acquired.get(name)
    if task.name == _FOUND and isinstance(source, HiTomSource) and source.found is None:
        text = f"{_FOUND} has no questions: name a file of tomrl attack as acquire.{name}.found"
        yield Mistake(("task",), text)
    if split is None or not isinstance(source, HiTomSource):
        return
    there = range(min(_DEEPEST, source.agents) + 1)
    asked = part.orders or there
    for order in asked:
        if order in task.orders and order not in there:
            orders = ", ".join(map(str, there))
            yield wrong(("orders",), order, f"{orders}, as its stories have {source.agents} agents")
    stories = getattr(source, split)
    rows = stories * len(fitting := {*asked} & {*there})
    if fitting and rows < (part.limit or 1):
        text = (
            f"{part.limit or 'some'} rows are asked for, and there are {rows}: "
            f"acquire.{name}.{split} draws {stories} stories, with one question of each of "
            f"{counted(len(fitting), 'order')}. Draw more stories, or lower the limit"
        )
        yield Mistake(("limit",), text)


def _rule_mistakes(part: Part, task: Task) -> Iterator[Mistake]:
    """Yield rules on unreadable stories, and limits that cannot be divided evenly."""
    if part.rule is None:
        return
    if language_of(task.benchmark) is None:
        text = f"stories of {task.benchmark} cannot be read for it; leave it out for this task"
        yield Mistake(("rule",), text)
    orders = part.orders or ()
    groups = len(orders) * _KINDS[part.rule] * (1 if part.hard else 2)
    if orders and part.limit is not None and part.limit % groups:
        which = f"with rule: {part.rule} and {counted(len(orders), 'order')}"
        yield wrong(("limit",), part.limit, f"a multiple of {groups}, {which}")
