"""What a set of examples was made from: sources, kinds of question, stories and their structures.

Whether a column of results was trained, demonstrated or held out follows from the origins of both
(:mod:`pipeline.data.connection`), never from what somebody says of it.
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
    """What makes two questions of one kind: a model that learned one was trained on the other.

    Attributes:
        generator: What wrote the stories; this project's look-alikes follow the rules of the
            benchmark's own generator, so they count as it.
        telling: In which words: the benchmark's own, another style, retold.
        asked: What is asked, and in which form the answer is given.
        order: Belief order.
    """

    generator: str
    telling: str
    asked: str
    order: int | None


class Portion(Record):
    """How many rows of one kind a set has, and where they come from.

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
        """What kind of question its rows ask."""
        return QuestionKind(self.generator, self.telling, self.asked, self.order)


class Origin(Record):
    """What a set of examples was made from.

    Attributes:
        rows: Number of rows.
        portions: Rows by source, task and order.
        stories: Rows by story id.
        structures: Rows by the structure of their story, where it is known.
        unread: Rows of which no structure is known: arithmetic, and published texts that no parser
            reads.
    """

    rows: int
    portions: list[Portion]
    stories: dict[str, int]
    structures: dict[str, int]
    unread: int

    @classmethod
    def of(cls, examples: Iterable[Example], acquired: Iterable[Source]) -> Self:
        """Find out what examples were made from.

        Args:
            examples: The set.
            acquired: The study's sources, which tell how generated stories are told.
        """
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
        """What several sets were made from; the same set where there is one."""
        return (
            origins[0]
            if len(origins) == 1
            else cls(
                rows=sum(each.rows for each in origins),
                portions=[portion for each in origins for portion in each.portions],
                stories=_added(each.stories for each in origins),
                structures=_added(each.structures for each in origins),
                unread=sum(each.unread for each in origins),
            )
        )

    def kinds(self) -> set[QuestionKind]:
        """The kinds of question in the set."""
        return {portion.kind for portion in self.portions}

    def generators(self) -> set[str]:
        """What wrote its stories."""
        return {portion.generator for portion in self.portions}


class BaseShown(RecordOfModel):
    """``shown.json``: what a base model was shown, story by story.

    Attributes:
        origin: What it was shown; None where nobody here knows.
    """

    origin: Origin | None


class StudyOrigins(Record):
    """``origins.json``: what the sets of a study were made from.

    Attributes:
        columns: The columns of the suite.
        training: The training sets, by combination.
    """

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
    """The structure of an example's story; None where nobody can tell.

    Generators say which events they told. Of published stories a parser finds out; FANToM's
    conversations, OpenToM's narratives and retold stories have none.
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
    """What wrote a benchmark's stories: ``hi_tom`` for ``hi_tom_style_prose``."""
    generated = _GENERATED.fullmatch(benchmark)
    return generated[1] if generated else benchmark


def _tellings(acquired: Iterable[Source]) -> dict[str, str]:
    return {
        source_name(source.kind, source.telling): source.telling
        for source in acquired
        if isinstance(source, GeneratedSource)
    }


def _task_of(example: Example) -> registry.Task | None:
    """The task of an example; what was drawn for none needs no benchmark's module."""
    return None if example.task == OF_NO_TASK else registry.find(example.task)


def _source(example: Example) -> str:
    """The raw source of a row; what is drawn for no task has its benchmark's name."""
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
"""What a benchmark asks, by the first pattern that its question type, or else its question, has."""


def _asked(generator: str, example: Example) -> str:
    """What an example asks, in words that a benchmark and its look-alike share."""
    forms = _ASKED.get(generator, ())
    if generator == "opentom":  # a look-alike's types do not tell fullness from accessibility
        text = f"{example.question_type} {example.question}"
    else:
        text = example.question_type or example.question
    return next((asked for form, asked in forms if re.search(form, text.lower())), "")
