"""Use of reasoning: shares of edited reasoning that answers follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.evaluate.statistics import Estimate, share
from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.tasks.example import Example

FEWEST_EDITS = 30
"""Minimum number of edits."""


NONE = share([], [])


@dataclass(frozen=True, slots=True)
class Used:
    """Answers after edits of the reasoning before them.

    Attributes:
        followed: Share of edits, before the sentence with the answer, whose implied place becomes
            the answer.
        stays: Share of them with an unchanged answer.
        by_kind: ``followed`` by kind of edit.
        restated: The same for edits of the sentence with the answer.
    """

    followed: Estimate = NONE
    stays: Estimate = NONE
    by_kind: Mapping[str, Estimate] = field(default_factory=dict)
    restated: Estimate = NONE
    untried: str | None = None


RECORDED = Used(untried="recorded answers cannot be continued")


def used_of(tried: Tried, suite: Mapping[str, Sequence[Example]], columns: Collection[str]) -> Used:
    stories = {each.id: each.story_id for name in columns for each in suite[name]}
    found = [each for each in tried.attempts if each.column in columns]
    before = [each for each in found if each.kind != RESTATED]

    def following(attempts: Sequence[Attempt]) -> Estimate:
        return share([each.follows for each in attempts], [stories[each.id] for each in attempts])

    return Used(
        followed=following(before),
        stays=share([each.stays for each in before], [stories[each.id] for each in before]),
        by_kind={
            kind: following([each for each in before if each.kind == kind])
            for kind in dict.fromkeys(each.kind for each in before)
        },
        restated=following([each for each in found if each.kind == RESTATED]),
        untried=_untried(tried, len(before)),
    )


def _untried(tried: Tried, count: int) -> str | None:
    if tried.untried is not None or count >= FEWEST_EDITS:
        return tried.untried
    return f"{count} edits of the reasoning imply another answer; it takes {FEWEST_EDITS}"
