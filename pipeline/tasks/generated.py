"""Tasks on data that the belief engine made: look-alikes of every benchmark, and arithmetic.

The rows are written by the acquire stage as JSON lines with gold answers and true traces, split by
story into train, validation and test. Every benchmark has three surface styles, whose sources and
tasks end in ``_prose`` and ``_log`` for the two that are not the benchmark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.tasks import fantom_rules
from pipeline.tasks.example import AnswerKind, Example, content_hash
from pipeline.tasks.grading import extract_tagged_or_all, match_equal, match_suffix
from pipeline.tasks.gsm8k import match_number, match_number_only
from pipeline.tasks.reading import Row, read_jsonl
from pipeline.tasks.registry import Task, register

_TITLES = {
    "hi_tom_style": "Hi-ToM style",
    "tomi_style": "ToMi style",
    "explore_tom_style": "ExploreToM style",
    "fantom_style": "FANToM style",
    "opentom_style": "OpenToM style",
}
STYLES = ("", "_prose", "_log")
SPLITS = {"test": "", "train": "_train", "validation": "_validation"}


def load_stories(raw: Path, source: str, split: str, task: str) -> Iterator[Example]:
    """Yield the questions of one split of a generated source."""
    for row in read_jsonl(raw / source / f"{split}.jsonl"):
        yield Example(
            benchmark=source,
            task=task,
            story=row.text("story"),
            question=row.text("question"),
            answer=row.text("answer"),
            answer_kind=_kind(row),
            choices=_choices(row),
            order=None if row.values.get("order") is None else row.integer("order"),
            question_type=row.text("question_type"),
            meta=_meta(row),
        )


def _meta(row: Row) -> dict[str, object]:
    known = set(row.text("answer").split(", "))
    return {
        "is_interesting": row.flag("is_interesting"),
        "trace": row.get("trace", str),
        "wrong_names": [name for name in _choices(row) or () if name not in known],
    }


def _choices(row: Row) -> tuple[str, ...] | None:
    return None if row.values.get("choices") is None else row.texts("choices")


def _kind(row: Row) -> AnswerKind:
    if row.text("question_type").endswith(":list"):
        return "names"
    return "yes_no" if row.text("answer").lower() in ("yes", "no") else "span"


def match(answer: str, example: Example) -> bool:
    """Compare lists of names as FANToM does, everything else by Study 1's rule."""
    rule = fantom_rules.match if example.answer_kind == "names" else match_suffix
    return rule(answer, example)


def match_strictly(answer: str, example: Example) -> bool:
    """Compare lists of names as sets, everything else for equality."""
    rule = fantom_rules.strict if example.answer_kind == "names" else match_equal
    return rule(answer, example)


def load_arithmetic(raw: Path, split: str, task: str) -> Iterator[Example]:
    """Yield the arithmetic word problems of one split."""
    for row in read_jsonl(raw / "arithmetic" / f"{split}.jsonl"):
        question = row.text("question")
        yield Example(
            benchmark="arithmetic",
            task=task,
            story="",
            question=question,
            answer=row.text("answer"),
            answer_kind="number",
            meta={"trace": row.text("solution")},
            story_id=content_hash(question),
        )


for _kind_name, _title in _TITLES.items():
    for _style in STYLES:
        for _split, _suffix in SPLITS.items():
            _source = f"{_kind_name}{_style}"
            register(
                Task(
                    name=f"{_source}{_suffix}",
                    benchmark=_kind_name,
                    title=f"{_title}{_style.replace('_', ', ')} ({_split}, generated)",
                    sources=(_source,),
                    load=partial(
                        load_stories, source=_source, split=_split, task=f"{_source}{_suffix}"
                    ),
                    match=match,
                    strict=match_strictly,
                    choices_in_prompt=_kind_name == "opentom_style",
                )
            )

register(
    Task(
        name="arithmetic",
        benchmark="arithmetic",
        title="Arithmetic (generated)",
        sources=("arithmetic",),
        load=partial(load_arithmetic, split="test", task="arithmetic"),
        match=match_number,
        strict=match_number_only,
        extract=extract_tagged_or_all,
    )
)
