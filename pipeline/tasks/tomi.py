"""ToMi as released: the test split of the balanced archive.

Source: facebookresearch/ToMi:tomi_balanced_story_types.zip, ``fb_all_test.{txt,trace}``. Study 1
used fresh output of the generator instead, which is the task ``tomi`` of ``tom_rl.py``. Here 464 of
1,998 second-order answers contradict a plain reading of the story. Graded by Study 1's rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_suffix
from pipeline.tasks.reading import read_lines
from pipeline.tasks.registry import Task, register

_NAME = "tomi_released"
_ORDERS = {"memory": 0, "reality": 0, "first": 1, "second": 2}


def load(raw: Path) -> Iterator[Example]:
    text = raw / "tomi" / "fb_all_test.txt"
    traces = read_lines(text.with_suffix(".trace"))
    for (story, asked), trace in zip(_questions(text), traces, strict=True):
        question, answer, _ = asked.split("\t")
        *events, kind, story_type = trace.split(",")
        yield Example(
            benchmark="tomi",
            task=_NAME,
            story=story,
            question=question,
            answer=answer,
            order=_ORDERS[kind.partition("_")[0]],
            question_type=kind,
            meta={"story_type": story_type, "events": events},
        )


def _questions(path: Path) -> Iterator[tuple[str, str]]:
    """Split the numbered lines into stories; the last line of each is its question."""
    story: list[str] = []
    for line in read_lines(path):
        text = line.partition(" ")[2]
        if "\t" in text:
            yield "\n".join(story), text
            story = []
        else:
            story.append(text)


register(
    Task(
        name=_NAME,
        benchmark="tomi",
        title="ToMi (released)",
        sources=("tomi",),
        load=load,
        match=match_suffix,
        count=5994,
        orders=(0, 1, 2),
        fields=("story_type",),
    )
)
