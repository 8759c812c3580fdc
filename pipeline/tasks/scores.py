"""Aggregate scores that more than one benchmark reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

LONGEST_TEXT = 20_000


def token_f1(truth: str, answer: str) -> float:
    """The F1 of the words that two texts share, counted with repeats.

    Source: skywalker023/fantom:eval_fantom.py (``compute_f1``). Only the beginning of a very long
    answer counts.
    """
    wanted, found = truth.split(), answer[:LONGEST_TEXT].split()
    same = sum((Counter(wanted) & Counter(found)).values())
    if not same:
        return 0.0
    precision, recall = same / len(found), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def macro_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> float:
    """Unweighted mean F1 over the classes on either side."""
    scores = _class_f1(truths, answers)
    return sum(scores.values()) / len(scores) if scores else 0.0


def weighted_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> float:
    """Mean F1 over the classes, weighted by their frequency in ``truths``."""
    support = Counter(truths)
    scores = _class_f1(truths, answers)
    return sum(scores[label] * n for label, n in support.items()) / len(truths) if truths else 0.0


def _class_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> dict[Hashable, float]:
    hits = Counter(truth for truth, answer in zip(truths, answers, strict=True) if truth == answer)
    total = Counter(truths) + Counter(answers)
    return {label: 2 * hits[label] / count for label, count in total.items()}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
