"""Questions under other names: the same events and the same answer.

Asked beside the original, they tell models that follow events (right or wrong on both together)
from models that know structures of stories by heart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.base.errors import UserError
from pipeline.rules.reading import Reading, read_all
from pipeline.tasks.example import Example
from pipeline.tom.story import agents_of


def under_other_names(examples: Sequence[Example]) -> list[Example]:
    """Every example with agents' and containers' names shifted by one."""
    return [_renamed(reading) for reading in read_all(examples)]


def _renamed(reading: Reading) -> Example:
    example, surface = reading.example, reading.surface
    if surface is None:
        raise UserError(
            f"task {example.task}: other names are asked for, and the belief engine cannot "
            "read its stories; leave renamed out for this task"
        )
    called = {
        name: other
        for names in (agents_of(surface.story.events), reading.candidates)
        for name, other in _passed_on(names)
    }
    meta = {k: _told(v, called) if isinstance(v, str) else v for k, v in example.meta.items()}
    if "pair" in meta:  # beside the pair that it repeats, it is one of its own
        meta["pair"] = f"{meta['pair']} renamed"
    return replace(
        example,
        story=_told(example.story, called),
        question=_told(example.question, called),
        answer=_told(example.answer, called),
        meta=meta,
        story_id="",
        id="",
    )


def _passed_on(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from zip(names, (*names[1:], *names[:1]), strict=True)


def _told(text: str, called: Mapping[str, str]) -> str:
    words = "|".join(map(re.escape, sorted(called, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)({words})(?!\w)", lambda found: called[found[0]], text)
