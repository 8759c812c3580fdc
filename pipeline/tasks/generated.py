"""Tasks on data that the belief engine made: look-alikes of benchmarks, and arithmetic.

The rows are written by the acquire stage as JSON lines with gold answers and true traces, split by
story into train, validation and test, with pairs of stories that differ in one event beside them
(``_pairs``), and stories that a search found against a model (``_found``). Each look-alike has
three surface styles, whose sources and tasks end in ``_prose`` and ``_log`` for the two that are
not the benchmark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pipeline.tasks import fantom_rules
from pipeline.tasks.example import Example, content_hash, generated_kind
from pipeline.tasks.grading import extract_tagged_or_all, match_equal, match_suffix
from pipeline.tasks.gsm8k import match_number, match_number_only
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import Loader, Task, reads_nothing, register
from pipeline.tom.generate.styles import BENCHMARK

_TITLES = {
    "hi_tom_style": "Hi-ToM style",
    "explore_tom_style": "ExploreToM style",
    "fantom_style": "FANToM style",
}
_ORDERS = {
    "hi_tom_style": (0, 1, 2, 3, 4),
    "explore_tom_style": (-1, 1, 2),
    "fantom_style": (0, 1, 2),
}
_TIE = ("pair", "member", "intervention", "proof")
STYLES = ("", "_prose", "_log")
SPLITS = {"test": "", "train": "_train", "validation": "_validation"}


def load_stories(raw: Path, source: str, split: str, task: str) -> Iterator[Example]:
    for row in read_rows(raw / source / f"{split}.jsonl"):
        yield _example(row, source, task)


def load_pairs(raw: Path, source: str, task: str) -> Iterator[Example]:
    """Yield questions about pairs of stories that differ in one event, linked by ``meta.pair``."""
    for row in read_rows(raw / source / "pairs.jsonl"):
        example = _example(row, source, task)
        tie = {name: row.text(name) for name in _TIE}
        differs = row.flag("differs")
        yield replace(example, meta={**example.meta, **tie, "differs": differs})


def _example(row: SourceRow, source: str, task: str) -> Example:
    return Example(
        benchmark=source,
        task=task,
        story=row.text("story"),
        question=row.text("question"),
        answer=row.text("answer"),
        answer_kind=generated_kind(row.text("question_type"), row.text("answer")),
        choices=_choices(row),
        order=None if row.values.get("order") is None else row.integer("order"),
        question_type=row.text("question_type"),
        meta=_meta(row),
    )


def _meta(row: SourceRow) -> dict[str, object]:
    known = set(row.text("answer").split(", "))
    told = {"structure": row.text("structure")} if "structure" in row.values else {}
    return {
        **told,
        "is_interesting": row.flag("is_interesting"),
        "heeds_claim": row.values.get("heeds_claim"),
        "trace": row.get("trace", str),
        "wrong_names": [name for name in _choices(row) or () if name not in known],
    }


def _choices(row: SourceRow) -> tuple[str, ...] | None:
    return None if row.values.get("choices") is None else row.texts("choices")


def match(answer: str, example: Example) -> bool:
    """FANToM's rule for lists of names, Study 1's for everything else."""
    rule = fantom_rules.match if example.answer_kind == "names" else match_suffix
    return rule(answer, example)


def match_strictly(answer: str, example: Example) -> bool:
    """Set equality for lists of names, equality for everything else."""
    rule = fantom_rules.strict if example.answer_kind == "names" else match_equal
    return rule(answer, example)


def reads_kind(example: Example) -> tuple[str, ...]:
    """Fields that identify lists of names, which have their own rule."""
    return ("answer_kind", *(("meta.wrong_names",) if example.answer_kind == "names" else ()))


def load_arithmetic(raw: Path) -> Iterator[Example]:
    for row in read_rows(raw / "arithmetic" / "test.jsonl"):
        question = row.text("question")
        yield Example(
            benchmark="arithmetic",
            task="arithmetic",
            story="",
            question=question,
            answer=row.text("answer"),
            answer_kind="number",
            meta={"trace": row.text("solution")},
            story_id=content_hash(question),
        )


def _register(name: str, kind: str, title: str, source: str, load: Loader, *fields: str) -> None:
    register(
        Task(
            name=name,
            benchmark=kind,
            title=f"{_TITLES[kind]}{title}",
            sources=(source,),
            load=load,
            match=match,
            strict=match_strictly,
            reads=reads_kind if kind == "fantom_style" else reads_nothing,
            orders=_ORDERS[kind],
            fields=("is_interesting", *fields),
            telling=source.removeprefix(kind).removeprefix("_") or BENCHMARK,
        )
    )


for _kind_name in _TITLES:
    for _style in STYLES:
        _source, _telling = f"{_kind_name}{_style}", _style.replace("_", ", ")
        for _split, _suffix in SPLITS.items():
            _name = f"{_source}{_suffix}"
            _register(
                _name,
                _kind_name,
                f"{_telling} ({_split}, generated)",
                _source,
                partial(load_stories, source=_source, split=_split, task=_name),
                *(() if _kind_name == "fantom_style" else ("heeds_claim",)),
            )
        _name = f"{_source}_pairs"
        _register(
            _name,
            _kind_name,
            f"{_telling} (pairs, generated)",
            _source,
            partial(load_pairs, source=_source, task=_name),
            *_TIE,
            "differs",
        )

_register(
    "hi_tom_style_found",
    "hi_tom_style",
    " (found by a search)",
    "hi_tom_style",
    partial(load_stories, source="hi_tom_style", split="found", task="hi_tom_style_found"),
    "heeds_claim",
)

register(
    Task(
        name="arithmetic",
        benchmark="arithmetic",
        title="Arithmetic (generated)",
        sources=("arithmetic",),
        load=load_arithmetic,
        match=match_number,
        strict=match_number_only,
        extract=extract_tagged_or_all,
        fields=("trace",),
        mathematics=True,
    )
)
