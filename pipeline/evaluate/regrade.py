"""Grading recorded answers again: accuracy by belief order, by a rule that is named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.evaluate.answers import AnsweredQuestion
from pipeline.evaluate.statistics import Estimate, share
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Extractor, Matcher, TooLate, match_verbatim
from pipeline.tasks.json_answer import extract_json

STRICT, EXPANDED, TAGS = "strict", "expanded", "tags"
ALL = "all"


@dataclass(frozen=True, slots=True)
class Regraded:
    """What came of grading.

    Attributes:
        right: Whether each answer is right.
        found: Whether an answer was found in each response.
        by_order: Accuracy by belief order, and over ``all``.
    """

    right: tuple[bool, ...]
    found: tuple[bool, ...]
    by_order: Mapping[str, Estimate]


def regrade(answers: Sequence[AnsweredQuestion], task: registry.Task, match: str) -> Regraded:
    """Grade answers.

    Args:
        answers: What was answered.
        task: Whose rules grade them.
        match: ``strict`` (Study 1's first rule, for answers in JSON: the answer ends with the
            truth as it is written), ``expanded`` (answers in JSON by the task's published rule,
            which takes an underscore for a space) or ``tags`` (answers in tags, by the same rule).
    """
    extract, matcher = _rules(task, match)
    extracted = [extract(each.response) for each in answers]
    right = tuple(
        is_right(matcher, text, each.example) for text, each in zip(extracted, answers, strict=True)
    )
    return Regraded(right, tuple(text is not None for text in extracted), _by_order(answers, right))


def _rules(task: registry.Task, match: str) -> tuple[Extractor, Matcher]:
    if match == STRICT:
        return extract_json, match_verbatim
    return (extract_json if match == EXPANDED else task.extract), task.is_right


def is_right(match: Matcher, extracted: str | None, example: Example) -> bool:
    """Whether an answer is right; none is not, nor one that no rule could judge in time."""
    if not extracted or not extracted.strip():
        return False
    try:
        return match(extracted, example)
    except TooLate:
        return False


def _by_order(answers: Sequence[AnsweredQuestion], right: Sequence[bool]) -> dict[str, Estimate]:
    groups = defaultdict[str, list[int]](list)
    for place, each in enumerate(answers):
        if each.example.order is not None:
            groups[str(each.example.order)].append(place)
    groups = defaultdict(list, {order: groups[order] for order in sorted(groups)})
    groups[ALL] = list(range(len(answers)))
    return {
        order: share([right[p] for p in places], [answers[p].example.story_id for p in places])
        for order, places in groups.items()
    }
