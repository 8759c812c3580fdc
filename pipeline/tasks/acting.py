"""Acting on minds: after a Hi-ToM-style story, what does somebody do so that others believe X?

The stories are those of ``hi_tom_style``, so that its columns ask literal questions about the same
worlds. A goal is drawn for each story from the digest of its text, where one can be reached in two
acts and no rule on the goal's words reaches too many (:mod:`pipeline.tom.generate.acts`). An answer
goes on with the story; it is right if a replay of the story with its acts reaches the goal. The
idea of asking for acts is that of NCP-ToM; its tasks are not these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import tee
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.generated import SPLITS
from pipeline.tasks.reading import read_rows
from pipeline.tasks.registry import Task, register
from pipeline.tom.acting import MOST_ACTS, acting
from pipeline.tom.generate.acts import act_tasks, plan_text, question, read_question, reasoning
from pipeline.tom.language import HI_TOM
from pipeline.tom.parse.text import ParseError
from pipeline.tom.story import Story

_LONGEST = 2_000  # characters of an answer, far beyond any plan's
_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.):]?)?\s+", re.MULTILINE)


def load(raw: Path, split: str, task: str) -> Iterator[Example]:
    """Yield a task of each story that has one, in the order of the stories."""
    rows = read_rows(raw / "hi_tom_style" / f"{split}.jsonl")
    structures = {row.text("story"): row.text("structure") for row in rows}
    for example in tasks_of(structures):
        meta = {**example.meta, "structure": structures[example.story]}
        yield replace(example, task=task, meta=meta)


def tasks_of(stories: Iterable[str]) -> Iterator[Example]:
    """Yield a task of each story that has one."""
    one, other = tee(stories)
    drawn = act_tasks((_events(story), story) for story in one)
    for story, found in zip(other, drawn, strict=True):
        if found is not None:
            yield Example(
                benchmark="acting",
                task="acting",
                story=story,
                question=question(found),
                answer=plan_text(found.shortest),
                order=len(found.goal[0].chain),
                question_type=found.kind,
                meta={
                    "goal": found.kind,
                    "acts": len(found.shortest),
                    "trace": reasoning(found),
                },
            )


def match(answer: str, example: Example) -> bool:
    """What the answer tells reaches the goal; sentences that tell no act are left out."""
    return _reaches(told(answer, example), example)


def match_strictly(answer: str, example: Example) -> bool:
    """The same, where every sentence tells an act, and none can be left out."""
    acts = _read(_MARK.sub("", answer), example) or ()
    fewer = (acts[:place] + acts[place + 1 :] for place in range(len(acts)))
    return _reaches(acts, example) and not any(_reaches(each, example) for each in fewer)


def told(answer: str, example: Example) -> Story:
    """The acts that an answer tells in the story's words."""
    kept = ""
    for sentence in re.split(r"[.\n]", _MARK.sub("", answer[:_LONGEST])):
        longer = f"{kept}{sentence.strip()}.\n"
        kept = longer if _read(longer, example) else kept
    return _read(kept, example) or ()


def _read(text: str, example: Example) -> Story | None:
    try:
        before = len(_events(example.story))
        return HI_TOM.story(f"{example.story}\n{text}").events[before:]
    except ParseError:
        return None


def _reaches(acts: Story, example: Example) -> bool:
    if not 0 < len(acts) <= MOST_ACTS:
        return False
    try:
        actor, goal = read_question(example.question)
    except ValueError:
        return False
    asked = acting(_events(example.story), actor)
    return asked is not None and asked.reaches(acts, goal)


@lru_cache(maxsize=512)
def _events(story: str) -> Story:
    return HI_TOM.story(story).events


for _split, _suffix in SPLITS.items():
    register(
        Task(
            name=f"acting{_suffix}",
            benchmark="acting",
            title=f"Acting on minds ({_split}, generated)",
            sources=("hi_tom_style",),
            load=partial(load, split=_split, task=f"acting{_suffix}"),
            match=match,
            strict=match_strictly,
            orders=(1, 2),
            fields=("goal", "acts"),
        )
    )
