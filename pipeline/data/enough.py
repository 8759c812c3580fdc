"""Are there as many rows as a study asks for, as far as that is known before data are made?

A generated story of Hi-ToM's kind has one question of each belief order, so that its rows can be
counted. What a filter leaves of them, only the stage ``dataset`` can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.config.mistakes import Mistake, Place, wrong
from pipeline.config.references import at, whole_at
from pipeline.config.sources import HiTomSource
from pipeline.formats.plural import counted
from pipeline.tasks.registry import Task
from pipeline.tom.language import language_of

_DEEPEST = 4  # belief order of Hi-ToM
_SPLITS = {"": "test", "_train": "train", "_validation": "validation"}
_KINDS = {"right": 1, "wrong": 1, "half": 2}


def row_mistakes(
    place: Place, part: object, task: Task, acquired: dict[str, object]
) -> Iterator[Mistake]:
    """Yield what leaves a part with fewer rows than it asks for.

    Args:
        place: Of the part.
        part: The part as it is written.
        task: Its task.
        acquired: The study's sources.
    """
    yield from _rule_mistakes(place, part, task)
    name = task.sources[0]
    split = _SPLITS.get(task.name.removeprefix(name))
    if split is None or at(acquired, name, "kind") != "hi_tom_style":
        return
    agents: int = HiTomSource.model_fields["agents"].default
    agents = whole_at(acquired, name, "agents", default=agents)
    there = range(min(_DEEPEST, agents) + 1)
    asked = _orders(part) or list(there)
    for order in asked:
        if order in task.orders and order not in there:
            allowed = f"{', '.join(map(str, there))}, as its stories have {agents} agents"
            yield wrong((*place, "orders"), order, allowed)
    stories, limit = whole_at(acquired, name, split), at(part, "limit")
    rows = stories * len(fitting := {*asked} & {*there})
    if fitting and rows < (limit if isinstance(limit, int) else 1):
        text = (
            f"{limit or 'some'} rows are asked for, and there are {rows}: "
            f"acquire.{name}.{split} draws {stories} stories, with one question of each of "
            f"{counted(len(fitting), 'order')}. Draw more stories, or lower the limit"
        )
        yield Mistake((*place, "limit"), text)


def _rule_mistakes(place: Place, part: object, task: Task) -> Iterator[Mistake]:
    """Yield a rule on stories that it cannot read, and a limit that cannot be shared out."""
    rule, limit = at(part, "rule"), at(part, "limit")
    if rule not in _KINDS:
        return
    if language_of(task.benchmark) is None:
        text = f"stories of {task.benchmark} cannot be read for it; leave it out for this task"
        yield Mistake((*place, "rule"), text)
    orders = _orders(part)
    groups = len(orders) * _KINDS[str(rule)] * (1 if at(part, "hard") is True else 2)
    if orders and isinstance(limit, int) and limit % groups:
        allowed = f"a multiple of {groups}, with rule: {rule} and {counted(len(orders), 'order')}"
        yield wrong((*place, "limit"), limit, allowed)


def _orders(part: object) -> list[int]:
    found = at(part, "orders")
    return [each for each in found if type(each) is int] if isinstance(found, list) else []
