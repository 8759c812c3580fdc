"""Hi-ToM: where does A think B thinks ... the object is, orders 0 to 4.

Source: ying-hui-he/Hi-ToM_dataset:Hi-ToM_data.json, 600 tasks in two prompt variants, CoTP and VP,
that disagree on 138 answers (Hiforever-h/RobustToM-RL:data/Hi-ToM/label_conflicts.jsonl lists the
same ones). CoTP is the reading that the generator's rules support, so ``hi_tom`` uses it. Line
numbers are left out, as Study 1 did. Graded by Study 1's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_suffix
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import Task, register

# The VP twin of a task has the CoTP task's sample_id plus this.
_TWIN_DISTANCE = 300
_LINE_NUMBER = re.compile(r"^\d+ ", re.MULTILINE)
_CHOICE = re.compile(r"[A-O]\. (\S+?)(?:, |$)")


def load(raw: Path, variant: str, task: str) -> Iterator[Example]:
    """Yield the 600 tasks of one variant, in upstream's order."""
    path = raw / "hi_tom" / "Hi-ToM_data.json"
    rows = {row.integer("sample_id"): row for row in read_rows(path)}
    for row in rows.values():
        if row.text("prompting_type") == variant:
            yield _example(row, rows, task)


def _example(row: SourceRow, rows: Mapping[int, SourceRow], task: str) -> Example:
    sample, variant = row.integer("sample_id"), row.text("prompting_type")
    twin_id = sample + _TWIN_DISTANCE if variant == "CoTP" else sample - _TWIN_DISTANCE
    twin, answer = rows[twin_id], row.text("answer")
    instruction, story = _split_story(row.text("story"))
    return Example(
        benchmark="hi_tom",
        task=task,
        story=story,
        question=row.text("question"),
        answer=answer,
        choices=tuple(_CHOICE.findall(row.text("choices"))),
        order=row.integer("question_order"),
        question_type=f"order_{row.integer('question_order')}",
        meta={
            "sample_id": sample,
            "variant": variant,
            "instruction": instruction,
            "deception": row.flag("deception"),
            "story_length": row.integer("story_length"),
            "twin_sample_id": twin_id,
            "twin_answer": twin.text("answer"),
            "label_conflict": twin.text("answer") != answer,
        },
    )


def _split_story(text: str) -> tuple[str, str]:
    """Split off the instruction line, which only VP stories have."""
    # Six stories end with stray asterisks.
    text = text.strip().removesuffix("***").rstrip()
    if text.startswith("1 "):
        return "", _LINE_NUMBER.sub("", text)
    instruction, _, story = text.partition("\n")
    return instruction, _LINE_NUMBER.sub("", story)


_FIELDS = (
    *("sample_id", "variant", "instruction", "deception", "story_length", "twin_sample_id"),
    *("twin_answer", "label_conflict"),
)

for _name, _variant, _title in (
    ("hi_tom", "CoTP", "Hi-ToM"),
    ("hi_tom_vp", "VP", "Hi-ToM (VP labels)"),
):
    register(
        Task(
            name=_name,
            benchmark="hi_tom",
            title=_title,
            sources=("hi_tom",),
            load=partial(load, variant=_variant, task=_name),
            match=match_suffix,
            count=600,
            folds_like="hi_tom",
            orders=tuple(range(5)),
            fields=_FIELDS,
        )
    )
