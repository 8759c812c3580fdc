"""Choosing questions by whether a rule that learns nothing answers them.

The rule is that of the earliest exit, the best one on Hi-ToM: where the object was when the first
agent of the chain left. Trained where it is right throughout, a model may learn it; trained where
it is right half of the time, it gains nothing by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Literal

from pipeline.errors import UserError
from pipeline.tasks.example import Example
from pipeline.tom.language import language_of
from pipeline.tom.shortcut import guess

RULE = "earliest_exit"
Contrast = Literal["right", "wrong", "half"]


def rule_is_right(example: Example) -> bool:
    """Return whether the rule of the earliest exit answers an example.

    Raises:
        UserError: If the belief engine cannot read its benchmark.
    """
    language = language_of(example.benchmark)
    if language is None:
        raise UserError(
            f"task {example.task}: rule asks how the earliest exit answers, and stories of "
            f"{example.benchmark} cannot be read for it; leave rule out for this task"
        )
    story = language.in_full(example.story)
    given = guess(RULE, language.name, story, example.question, example.choices)
    return given == example.answer


def contrasting(
    examples: Sequence[Example], contrast: Contrast, limit: int | None, random: Random
) -> list[Example]:
    """Return as many examples of each belief order, and with ``half`` of each kind, in order.

    Args:
        examples: What to choose from.
        contrast: Those the rule answers, those it does not, or half of each.
        limit: Examples at most; as many as there are if None.
        random: Decides which are left out.

    Raises:
        UserError: If an order lacks examples of a kind.
    """
    kinds = {"right": (True,), "wrong": (False,), "half": (True, False)}[contrast]
    groups: dict[tuple[int | None, bool], list[int]] = defaultdict(list)
    orders = dict.fromkeys(example.order for example in examples)
    for index, example in enumerate(examples):
        groups[example.order, rule_is_right(example)].append(index)
    wanted = [(order, kind) for order in orders for kind in kinds]
    if missing := [order for order, kind in wanted if not groups[order, kind]]:
        raise UserError(
            f"rule: {contrast} wants questions of every order, and there are none of order "
            f"{missing[0]}; name the orders that have some, or draw more stories"
        )
    each = min(len(groups[group]) for group in wanted)
    if limit is not None:
        each = min(each, limit // len(wanted))
    chosen = [index for group in wanted for index in random.sample(groups[group], each)]
    return [examples[index] for index in sorted(chosen)]
