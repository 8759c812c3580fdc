"""Aggregate figures that more than one benchmark reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

LONGEST_TEXT = 20_000


def token_f1(truth: str, answer: str) -> float:
    """The F1 of the words that two texts share, counted with repeats.

    Source: skywalker023/fantom:eval_fantom.py (``compute_f1``). Of an answer far longer than any
    truth only the beginning counts.
    """
    wanted, found = truth.split(), answer[:LONGEST_TEXT].split()
    same = sum((Counter(wanted) & Counter(found)).values())
    if not same:
        return 0.0
    precision, recall = same / len(found), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def macro_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> float:
    """The plain mean of the F1 of every class that occurs on either side."""
    scores = _class_f1(truths, answers)
    return sum(scores.values()) / len(scores) if scores else 0.0


def weighted_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> float:
    """The mean of the F1 of every class, weighted by how often it is the truth."""
    support = Counter(truths)
    scores = _class_f1(truths, answers)
    return sum(scores[label] * n for label, n in support.items()) / len(truths) if truths else 0.0


def _class_f1(truths: Sequence[Hashable], answers: Sequence[Hashable]) -> dict[Hashable, float]:
    hits = Counter(truth for truth, answer in zip(truths, answers, strict=True) if truth == answer)
    total = Counter(truths) + Counter(answers)
    return {label: 2 * hits[label] / count for label, count in total.items()}


def mean(values: Sequence[float]) -> float | None:
    """The mean, or None of nothing."""
    return sum(values) / len(values) if values else None
