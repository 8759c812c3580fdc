"""Choosing questions by the answer of a shortcut rule.

The rule is that of the earliest exit, the best one on Hi-ToM: where the object was when the first
agent of the chain left for good (whoever came back has not left). A model may learn it from data
where it is always right; where it is right half of the time, it is useless. So that no other rule
takes its place, a choice among *hard* questions leaves out those that learned rules answer
(:mod:`pipeline.data.hard`); in every other choice the runner-up, the place named last, is right
half of the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Literal

from pipeline.base.errors import UserError
from pipeline.tasks.example import Example
from pipeline.tom.language import language_of
from pipeline.tom.parse.text import ParseError
from pipeline.tom.shortcut import Surface, earliest_exit, read_surface
from pipeline.tom.story import Claim, Move, Place

Contrast = Literal["right", "wrong", "half"]


def answer_by_rule(example: Example) -> str:
    """The answer of the earliest-exit rule, or empty; UserError for an unreadable benchmark."""
    return earliest_exit(_surface(example)) or ""


def _surface(example: Example) -> Surface:
    language = language_of(example.benchmark)
    if language is None:
        raise UserError(
            f"task {example.task}: the rule of the earliest exit is asked for, and stories of "
            f"{example.benchmark} cannot be read for it; leave it out for this task"
        )
    return read_surface(language, example.story, example.question)


def rule_is_right(example: Example) -> bool:
    return answer_by_rule(example) == example.answer


def last_named(example: Example) -> str:
    """The container that a story names last, true or claimed; empty if it names none."""
    try:
        events = _surface(example).story.events
    except ParseError as error:
        raise UserError(
            f"task {example.task}: the rule of the earliest exit is asked for, and the engine "
            f"reads no wording but the benchmark's own and brief ({error}); leave it out for this "
            "task"
        ) from None
    named = [event.container for event in events if isinstance(event, Place | Move | Claim)]
    return named[-1] if named else ""


def contrasting(
    examples: Sequence[Example],
    contrast: Contrast,
    limit: int | None,
    random: Random,
    hard: bool = False,
) -> list[Example]:
    """As many examples of each belief order, and with ``half`` of each kind, in order.

    Args:
        contrast: Examples on which the rule is right, wrong, or half of each.
        hard: The pool is filtered already. If not, half of the answers of each order and kind are
            the place that the story names last.

    Raises:
        UserError: If an order lacks examples of a kind, or balance is impossible.
    """
    kinds = {"right": (True,), "wrong": (False,), "half": (True, False)}[contrast]
    lasts = (None,) if hard else (True, False)
    groups: dict[tuple[int | None, bool, bool | None], list[int]] = defaultdict(list)
    orders = dict.fromkeys(example.order for example in examples)
    for index, example in enumerate(examples):
        named_last = None if hard else last_named(example) == example.answer
        groups[example.order, rule_is_right(example), named_last].append(index)
    wanted = list(product(orders, kinds, lasts))
    if missing := [order for order, *kind in wanted if not groups[order, bool(kind[0]), kind[1]]]:
        about = "" if hard else ", half of them about the place that the story names last"
        raise UserError(
            f"rule: {contrast} wants questions of every order{about}, and there are none of order "
            f"{missing[0]}; name the orders that have some, or draw more stories"
        )
    each = min(len(groups[group]) for group in wanted)
    if limit is not None:
        if limit % len(wanted):
            raise UserError(
                f"limit: found {limit}; allowed with rule: {contrast} and {len(orders)} belief "
                f"orders: a multiple of {len(wanted)}"
            )
        each = min(each, limit // len(wanted))
    chosen = [index for group in wanted for index in random.sample(groups[group], each)]
    return [examples[index] for index in sorted(chosen)]
