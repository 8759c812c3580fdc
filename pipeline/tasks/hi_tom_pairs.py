"""Counterfactual pairs from Hi-ToM's published stories: the story, and the same without one event.

A belief question on whose label the belief engine agrees is paired with the same question about a
twin of its story, which lacks an event such that another option is the answer. The event is drawn
by the story's id, its kind first, so that claims are drawn although they are few. The twin keeps
the published sentences in order, without line numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from random import Random

from pipeline.tasks import hi_tom
from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_suffix
from pipeline.tasks.registry import Task, register
from pipeline.tom.belief import beliefs
from pipeline.tom.deletion import Deletion, deletions
from pipeline.tom.parse.hi_tom import parse_question, parse_story
from pipeline.tom.rules import HI_TOM

NAME = "hi_tom_pairs"
_KEPT = ("sample_id", "deception", "story_length")
_TIE = ("pair", "member", "intervention", "differs")


def load(raw: Path) -> Iterator[Example]:
    """Yield each pair: the published question, then the same about the twin.

    ``meta.pair`` is its sample id, ``member`` is ``observed`` with the event and ``hidden`` without
    it, ``intervention`` is the kind of event.
    """
    for example in hi_tom.load(raw, "CoTP", NAME):
        if example.order:
            yield from _pair(example)


def _pair(example: Example) -> Iterator[Example]:
    events, asked = parse_story(example.story).events, parse_question(example.question)
    if asked.answer(beliefs(events, HI_TOM)) != example.answer:
        return
    found = list(deletions(events, asked, example.choices or ()))
    if not found:
        return
    deleted = _drawn(found, Random(f"deleted:{example.story_id}"))
    tie = {name: example.meta[name] for name in _KEPT}
    tie |= {"pair": f"{tie['sample_id']}", "intervention": deleted.kind, "differs": True}
    yield replace(example, meta={**tie, "member": "observed"})
    lines = example.story.splitlines()
    yield replace(
        example,
        story="\n".join(lines[: deleted.moment] + lines[deleted.moment + 1 :]),
        answer=deleted.answer,
        meta={**tie, "member": "hidden"},
        story_id="",
        id="",
    )


def _drawn(found: list[Deletion], random: Random) -> Deletion:
    kinds = [list(group) for _, group in groupby(sorted(found, key=_kind), _kind)]
    return random.choice(random.choice(kinds))


def _kind(deletion: Deletion) -> str:
    return deletion.kind


register(
    Task(
        name=NAME,
        benchmark="hi_tom",
        title="Hi-ToM (pairs)",
        sources=("hi_tom",),
        load=load,
        match=match_suffix,
        count=718,
        orders=(1, 2, 3, 4),
        fields=(*_KEPT, *_TIE),
    )
)
