"""The origin of a set of examples: sources, kinds of question, stories and their structures.

The connection of results to training (:mod:`pipeline.data.connection`) follows from both origins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

from pipeline.config.sources import GeneratedSource, Source, source_name
from pipeline.formats.records import Record, RecordOfModel
from pipeline.tasks import registry
from pipeline.tasks.example import OF_NO_TASK, Example
from pipeline.tom.generate.styles import BENCHMARK
from pipeline.tom.language import language_of
from pipeline.tom.parse.text import ParseError
from pipeline.tom.structure import structure_id

_GENERATED = re.compile(r"(.+)_style(?:_[a-z]+)?")


class QuestionKind(NamedTuple):
    """The kind of a question: training on one question of a kind trains on the kind.

    Attributes:
        generator: The source of the stories; this project's look-alikes follow the rules of the
            benchmark's own generator, so they count as it.
        telling: The wording: the benchmark's own, another style, retold.
        asked: Topic of the question and form of the answer.
    """

    generator: str
    telling: str
    asked: str
    order: int | None


class Portion(Record):
    """Number of rows of one kind in a set, and their source.

    Attributes:
        source: The raw source.
        task: The registered task, or ``warm_start`` and ``drill``, which are no tasks.
        generator: See :class:`QuestionKind`, like the other fields.
    """

    source: str
    task: str
    generator: str
    telling: str
    asked: str
    order: int | None
    rows: int

    @property
    def kind(self) -> QuestionKind:
        return QuestionKind(self.generator, self.telling, self.asked, self.order)


class Origin(Record):
    """The origin of a set of examples.

    Attributes:
        portions: Rows by source, task and order.
        structures: Rows by structure of their story, where known.
        unread: Rows of unknown structure: arithmetic, and published texts without a parser.
    """

    rows: int
    portions: list[Portion]
    stories: dict[str, int]
    structures: dict[str, int]
    unread: int

    @classmethod
    def of(cls, examples: Iterable[Example], acquired: Iterable[Source]) -> Self:
        """The origin of examples; ``acquired`` sources tell the style of generated stories."""
        tellings = _tellings(acquired)
        portions: Counter[tuple[str, str, QuestionKind]] = Counter()
        stories: Counter[str] = Counter()
        structures: Counter[str] = Counter()
        rows = 0
        for example in examples:
            rows += 1
            portions[_source(example), example.task, _kind(example, tellings)] += 1
            if example.story:
                stories[example.story_id] += 1
                if (found := structure_of(example)) is not None:
                    structures[found] += 1
        return cls(
            rows=rows,
            portions=[
                Portion(source=source, task=task, rows=count, **kind._asdict())
                for (source, task, kind), count in sorted(portions.items(), key=_by_text)
            ],
            stories=dict(sorted(stories.items())),
            structures=dict(sorted(structures.items())),
            unread=rows - structures.total(),
        )

    @classmethod
    def together(cls, origins: Sequence[Self]) -> Self:
        return cls(
            rows=sum(each.rows for each in origins),
            portions=[portion for each in origins for portion in each.portions],
            stories=_added(each.stories for each in origins),
            structures=_added(each.structures for each in origins),
            unread=sum(each.unread for each in origins),
        )

    def kinds(self) -> set[QuestionKind]:
        return {portion.kind for portion in self.portions}

    def generators(self) -> set[str]:
        return {portion.generator for portion in self.portions}


class BaseShown(RecordOfModel):
    """``shown.json``: training data of a base model, story by story; None if unknown."""

    origin: Origin | None


class StudyOrigins(Record):
    """``origins.json``: origins of the suite's columns, and of training sets by combination."""

    columns: dict[str, Origin]
    training: dict[str, Origin]


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return dict(sorted(found.items()))


def _by_text(item: tuple[tuple[str, str, QuestionKind], int]) -> tuple[str, ...]:
    (source, task, kind), _ = item
    return (source, task, *map(str, kind))


def structure_of(example: Example) -> str | None:
    """The structure of an example's story, or None if unknown.

    Generators record it; published stories are parsed. FANToM's conversations, OpenToM's narratives
    and retold stories have none.
    """
    if "structure" in example.meta:
        return str(example.meta["structure"])
    language = language_of(example.benchmark)
    return None if language is None else _read(language.name, example.story)


@lru_cache(maxsize=4096)
def _read(benchmark: str, text: str) -> str | None:
    language = language_of(benchmark)
    assert language is not None
    try:
        return structure_id(language.story(text).events)
    except ParseError:
        return None


def generator_of(benchmark: str) -> str:
    """The generator of a benchmark's stories: ``hi_tom`` for ``hi_tom_style_prose``."""
    generated = _GENERATED.fullmatch(benchmark)
    return generated[1] if generated else benchmark


def _tellings(acquired: Iterable[Source]) -> dict[str, str]:
    return {
        source_name(source.kind, source.telling): source.telling
        for source in acquired
        if isinstance(source, GeneratedSource)
    }


def _task_of(example: Example) -> registry.Task | None:
    """The task of an example; rows drawn for none need no benchmark's module."""
    return None if example.task == OF_NO_TASK else registry.find(example.task)


def _source(example: Example) -> str:
    """The raw source of a row; the benchmark's name for rows drawn for no task."""
    task = _task_of(example)
    return example.benchmark if task is None else task.sources[0]


def _kind(example: Example, tellings: Mapping[str, str]) -> QuestionKind:
    task = _task_of(example)
    told = BENCHMARK if task is None else task.telling
    generator = generator_of(example.benchmark)
    return QuestionKind(
        generator,
        tellings.get(example.benchmark, told),
        f"{_asked(generator, example)}, {example.answer_kind}".removeprefix(", "),
        example.order,
    )


_ASKED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "hi_tom": (("", "place"),),
    "tomi": (("memory", "memory"), ("reality", "reality"), ("", "place")),
    "explore_tom": (
        ("container_location|^container|^in which container", "container"),
        ("room_location|^room|^in which room", "room"),
        ("knowledge|topic", "topic"),
        ("", "state"),
    ),
    "fantom": (
        ("fact", "fact"),
        ("belief", "belief"),
        ("answerability", "answerability"),
        ("info_accessibility", "information"),
    ),
    "opentom": (
        ("attitude", "attitude"),
        ("full", "fullness"),
        ("accessib", "accessibility"),
        ("", "place"),
    ),
}
"""The topic by the first pattern that matches a question type, or else a question."""


def _asked(generator: str, example: Example) -> str:
    """The topic of an example, in words that a benchmark and its look-alike share."""
    forms = _ASKED.get(generator, ())
    if generator == "opentom":  # a look-alike's types do not tell fullness from accessibility
        text = f"{example.question_type} {example.question}"
    else:
        text = example.question_type or example.question
    return next((asked for form, asked in forms if re.search(form, text.lower())), "")
