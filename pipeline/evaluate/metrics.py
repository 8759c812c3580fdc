"""Accuracy with its uncertainty, by task, belief order and question type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import mean, median

from pipeline.evaluate.records import Share, TaskScores
from pipeline.evaluate.runner import Graded
from pipeline.tasks.example import Example

_Z = 1.959963984540054  # 97.5th percentile of the normal distribution


def wilson_interval(correct: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a proportion (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    share = correct / total
    centre = share + _Z**2 / (2 * total)
    spread = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    scale = 1 + _Z**2 / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def task_metrics(examples: Sequence[Example], graded: Sequence[Graded]) -> TaskScores:
    """Return the metrics of one task: accuracy overall, strict, by order and by question type."""
    pairs = list(zip(examples, graded, strict=True))
    lengths = [g.response.completion_tokens for g in graded]
    reasons = [g.response.finish_reason for g in graded]
    overall = _share([g for _, g in pairs])
    return TaskScores(
        count=overall.count,
        correct=overall.correct,
        accuracy=overall.accuracy,
        interval=overall.interval,
        strict_accuracy=mean(float(g.grade.strict) for g in graded),
        format_rate=mean(float(g.grade.format_ok) for g in graded),
        length_mean=mean(lengths),
        length_median=median(lengths),
        unfinished=reasons.count("length"),
        prompts_too_long=reasons.count("prompt_too_long"),
        by_order=_grouped(pairs, lambda example: str(example.order)),
        by_question_type=_grouped(pairs, lambda example: example.question_type),
    )


def _share(graded: Sequence[Graded]) -> Share:
    correct = sum(g.grade.correct for g in graded)
    return Share(
        count=len(graded),
        correct=correct,
        accuracy=correct / len(graded),
        interval=wilson_interval(correct, len(graded)),
    )


def _grouped(
    pairs: Sequence[tuple[Example, Graded]], key: Callable[[Example], str]
) -> dict[str, Share]:
    groups: dict[str, list[Graded]] = {}
    for example, graded in pairs:
        groups.setdefault(key(example), []).append(graded)
    return {name: _share(groups[name]) for name in sorted(groups)}
