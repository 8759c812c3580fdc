"""ToMi as released: the test split of the balanced archive.

Source: facebookresearch/ToMi:tomi_balanced_story_types.zip, ``fb_all_test.{txt,trace}``. Study 1
used fresh output of the generator instead, which is the task ``tomi`` of ``tom_rl.py``. Here 464 of
1,998 second-order answers contradict a plain reading of the story. Graded by Study 1's rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_equal, match_suffix
from pipeline.tasks.reading import SourceRow, read_lines
from pipeline.tasks.registry import Task, register

_NAME = "tomi_released"
_ORDERS = {"memory": 0, "reality": 0, "first": 1, "second": 2}
_STORY_TYPES = ("true_belief", "false_belief", "second_order_false_belief")


def load(raw: Path, split: str = "test") -> Iterator[Example]:
    text = raw / "tomi" / f"fb_all_{split}.txt"
    trace = text.with_suffix(".trace")
    questions, traces = list(_questions(text)), read_lines(trace)
    if len(questions) != len(traces):
        SourceRow(str(trace), {}).fail(
            f"{len(traces)} lines for {len(questions)} questions in {text}"
        )
    for row, line, number in zip(questions, traces, range(1, len(traces) + 1), strict=True):
        events, _, story_type = line.rpartition(",")
        events, _, kind = events.rpartition(",")
        order = _ORDERS.get(kind.split("_")[0])
        if order is None or story_type not in _STORY_TYPES:
            SourceRow(f"{trace}, line {number}", {}).fail(f"{line[:80]!r} is not a trace")
        yield Example(
            benchmark="tomi",
            task=_NAME,
            story=row.text("story"),
            question=row.text("question"),
            answer=row.text("answer"),
            order=order,
            question_type=kind,
            meta={"story_type": story_type, "events": events.split(",")},
        )


def _questions(path: Path) -> Iterator[SourceRow]:
    """Split the numbered lines into stories; the last line of each is its question."""
    story: list[str] = []
    lines = read_lines(path)
    for place, line in enumerate(lines, 1):
        row = SourceRow(f"{path}, line {place}", {})
        number, _, text = line.partition(" ")
        if number != str(len(story) + 1) or not text:
            row.fail(f"{line[:80]!r} should be line {len(story) + 1} of a story")
        if "\t" not in text:
            story.append(text)
            continue
        fields = text.split("\t")
        if len(fields) != 3 or not story:
            row.fail("a question needs a story, and an answer and a 1 after tabs")
        question, answer, _ = fields
        yield SourceRow(
            row.where, {"story": "\n".join(story), "question": question, "answer": answer}
        )
        story = []
    if story:
        SourceRow(f"{path}, line {len(lines)}", {}).fail("the last story has no question")


register(
    Task(
        name=_NAME,
        benchmark="tomi",
        title="ToMi (released)",
        sources=("tomi",),
        load=partial(load, split="test"),
        match=match_suffix,
        strict=match_equal,
        count=5994,
        orders=(0, 1, 2),
        fields=("story_type",),
    )
)
