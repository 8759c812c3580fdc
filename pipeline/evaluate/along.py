"""Asking a training along its way: some questions, put to the weights of every step that it kept.

The questions are the same ones at every step, so that a change from one step to another is paired,
question by question. They are few: a curve takes many steps, and each costs as much as another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from pipeline.data.together import draw
from pipeline.evaluate.records import AskedStep
from pipeline.evaluate.runner import Asked, Graded

RIGHT, WRONG, UNASKED = "10-"


def asked_along(suite: Asked, most: int) -> Asked:
    """The questions of a suite that each step is asked, once each: so many of a column at most."""
    columns = {
        name: examples if len(examples) <= most else draw(examples, most, Random(f"along:{name}"))
        for name, examples in suite.columns.items()
    }
    return Asked(columns, replace(suite.asking, samples=1))


def noted(step: int, suite: Asked, asked: Asked, right: Iterable[bool]) -> AskedStep:
    """What a step answers.

    Args:
        step: The step.
        suite: All questions.
        asked: Those that it was asked.
        right: Whether each of its answers is right.
    """
    answers, found = iter(right), dict[str, str]()
    for name, examples in suite.columns.items():
        of = {e.id: RIGHT if next(answers) else WRONG for e in asked.columns[name]}
        found[name] = "".join(of.get(example.id, UNASKED) for example in examples)
    return AskedStep(step=step, right=found)


def known(suite: Asked, asked: Asked, graded: Sequence[Graded]) -> list[bool]:
    """Of answers to a whole suite, whether those are right that a step is asked for."""
    firsts = iter(graded[:: suite.asking.samples])
    right = {
        name: {e.id: next(firsts).grade.correct for e in examples}
        for name, examples in suite.columns.items()
    }
    return [right[name][e.id] for name, examples in asked.columns.items() for e in examples]


def answers_of(note: str, ids: Sequence[str]) -> Mapping[str, bool]:
    """Which of a column's questions a step answers rightly, by id, of those that it was asked.

    Args:
        note: Of the column, see :class:`pipeline.evaluate.records.AskedStep`.
        ids: Of the column's questions, in their order.

    Raises:
        ValueError: If there are more of one than of the other.
    """
    pairs = zip(ids, note, strict=True)
    return {name: mark == RIGHT for name, mark in pairs if mark != UNASKED}
