"""Matching ExploreToM's state questions to the sentences that brought the states about.

A question words a state differently from the story ("has a shiny chain" for "attached a shiny metal
chain to the harmonica"), and nothing else in the text connects the two, so the change that shares
most words with the question is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.tom.story import Aside, Change, Story

_STEM = 5  # letters that "striped" and "stripes" share
_COMMON = frozenset(re.findall(r"\w+", "a an and been for has in is it of on that the to with"))


def object_of(hint: str, story: str) -> tuple[str, ...]:
    """The longest beginning of the hint that the story mentions as "the ...", if any."""
    words = hint.split()
    for end in range(len(words), 0, -1):
        phrase = " ".join(words[:end])
        if f"the {phrase}" in story:
            return (phrase,)
    return ()


def best_change(clause: str, story: Story) -> tuple[int, str, str] | None:
    """(moment, object, state) of the change that shares most words with a clause, or None.

    The earliest wins a tie.
    """
    asked = _stems(clause)
    changes = [
        (moment, change.object, change.state)
        for moment, change in _changes(story)
        if change.object is not None and change.object in clause
    ]
    return max(changes, key=lambda change: len(_stems(change[2]) & asked), default=None)


def _changes(story: Story) -> Iterator[tuple[int, Change]]:
    for moment, event in enumerate(story):
        action = event.action if isinstance(event, Aside) else event
        if isinstance(action, Change):
            yield moment, action


def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)
