"""OpenToM: locations, fullness, accessibility and attitudes in narratives.

Source: seacowx/OpenToM:data/opentom_data, 596 stories of 23 questions, 100 of them also told at
length. The ``type`` of a question does not tell coarse from fine places, nor fullness from
accessibility; the file and the question's wording do. Evaluation only (authors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.tasks import opentom_rules
from pipeline.tasks.example import AnswerKind, Example
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tasks.reading import SourceRow, read_json
from pipeline.tasks.registry import Task, register

_CHOICES: Mapping[str, tuple[str, ...] | None] = {
    "location_fine": None,
    "location_coarse": ("Yes", "No"),
    "fullness": ("more full", "equally full", "less full"),
    "accessibility": ("more accessible", "equally accessible", "less accessible"),
    "attitude": ("positive", "neutral", "negative"),
}
# Upstream's evaluation says so with every question about attitude; observers of half of the stories
# saw nothing.
_ATTITUDE_HINT = "Assume that you observed the action."
_ANSWER_KINDS: Mapping[str, AnswerKind] = {"location_fine": "span", "location_coarse": "yes_no"}
_PLOT = ("mover", "observer", "eoi", "original_place", "move_to_place")


@dataclass(frozen=True, slots=True)
class _File:
    """A question file: its name, its ``type`` field, and the kinds it holds."""

    name: str
    type: str
    order: int | None
    suffix: str
    kinds: tuple[str, ...]


_FILES = (
    _File("attitude", "attitude", None, "", ("attitude",)),
    _File("location_cg_fo", "location-fo", 1, "_fo", ("location_coarse",)),
    _File("location_cg_so", "location-so", 2, "_so", ("location_coarse",)),
    _File("location_fg_fo_new", "location-fo", 1, "_fo", ("location_fine",)),
    _File("location_fg_so_new", "location-so", 2, "_so", ("location_fine",)),
    _File("multihop_fo", "multihop-fo", 1, "_fo", ("fullness", "accessibility")),
    _File("multihop_so", "multihop-so", 2, "_so", ("fullness", "accessibility")),
)


def load(
    raw: Path, task: str, question_type: str | None = None, long: bool = False
) -> Iterator[Example]:
    """Yield the questions file by file, story by story.

    Args:
        raw: Folder of the raw sources.
        task: Task of the examples.
        question_type: Keep only this type, such as ``fullness_so``; all by default.
        long: Use the 100 long narratives, joined with the questions by story id.
    """
    folder = raw / "opentom"
    stories = _records(folder / ("meta_data_long.json" if long else "meta_data.json"), dict)
    for file in _FILES:
        for story_id, questions in _records(folder / f"{file.name}.json", list).items():
            if (story := stories.get(story_id)) is None:  # few are told at length
                continue
            for row in questions.rows("value"):
                example = _example(row, file, story, story_id, task, long)
                if question_type in (None, example.question_type):
                    yield example


def _records(path: Path, kind: type) -> dict[str, SourceRow]:
    """Records by story id; a list becomes the field ``value``."""
    content = read_json(path)
    assert isinstance(content, dict)
    rows = {}
    for story_id, value in content.items():
        row = SourceRow(f"{path}, story {story_id}", {"value": value})
        rows[story_id] = row if kind is list else row.inner("value")
    return rows


def _example(
    row: SourceRow, file: _File, story: SourceRow, story_id: str, task: str, long: bool
) -> Example:
    question, answer = row.text("question"), row.text("answer")
    asked = f"{question} {_ATTITUDE_HINT}" if file.type == "attitude" else question
    kind = next(kind for kind in file.kinds if len(file.kinds) == 1 or kind in question)
    plot = {key: story.inner("plot_info").text(key) for key in _PLOT}
    perspective = _perspective(question, plot)
    return Example(
        benchmark="opentom",
        task=task,
        story=story.text("long_narrative" if long else "narrative"),
        question=asked,
        answer=answer,
        answer_kind=_ANSWER_KINDS.get(kind, "label"),
        choices=_CHOICES[kind],
        order=0 if perspective == "narrator" else file.order,
        question_type=kind + file.suffix,
        meta={
            "upstream_story": story_id,
            "kind": kind,
            "suffix": file.suffix,
            "perspective": perspective,
            "observed": story.flag("observed"),
            **plot,
        },
    )


def _perspective(question: str, plot: Mapping[str, str]) -> str:
    """The perspective: the first person named, or the narrator's."""
    places = {
        role: question.find(name)
        for role, name in (("narrator", "narrator"), *((r, plot[r]) for r in ("mover", "observer")))
        if name in question
    }
    return min(places, key=lambda role: places[role], default="narrator")


_FIELDS = ("upstream_story", "kind", "suffix", "perspective", "observed", *_PLOT)


def _register(
    name: str,
    title: str,
    count: int,
    orders: tuple[int, ...] = (0, 1, 2),
    question_type: str | None = None,
    long: bool = False,
) -> None:
    register(
        Task(
            name=name,
            benchmark="opentom",
            title=title,
            sources=("opentom",),
            load=partial(load, task=name, question_type=question_type, long=long),
            match=opentom_rules.match,
            reads=opentom_rules.reads,
            count=count,
            choices_in_prompt=True,
            extract=extract_tagged_or_all,
            folds_like="opentom",
            scores=opentom_rules.scores,
            headline=("macro-f1",),
            orders=orders,
            fields=_FIELDS,
        )
    )


_register("opentom", "OpenToM", 13_708)
_register("opentom_long", "OpenToM, long narratives", 2_300, long=True)
for _type, _count, _orders in (
    ("attitude", 596, ()),
    ("location_coarse_fo", 1192, (1,)),
    ("location_coarse_so", 1192, (2,)),
    ("location_fine_fo", 2384, (0, 1)),
    ("location_fine_so", 1192, (2,)),
    ("fullness_fo", 2384, (1,)),
    ("fullness_so", 2384, (2,)),
    ("accessibility_fo", 1192, (1,)),
    ("accessibility_so", 1192, (2,)),
):
    _register(f"opentom_{_type}", f"OpenToM {_type.replace('_', ' ')}", _count, _orders, _type)
