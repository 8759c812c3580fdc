"""Whose stories a file of answers is about: the benchmark whose parser reads most of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pipeline.evaluate.answers import How, open_answers
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tom.language import LANGUAGES, Language, language_of
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import asked_about

OTHER = "other"
"""The benchmark of stories that no parser reads; only rules of the text are asked of answers."""

ANY = "hi_tom"
"""The task whose grading rules answers get where no parser reads the stories."""

_TRIED = 200


@dataclass(frozen=True, slots=True)
class Fit:
    """How much of a file the parser of a benchmark reads.

    Attributes:
        benchmark: The benchmark.
        read: Stories with their questions that it reads.
        of: How many were tried.
        refused: What it says of the first that it does not read; empty where it reads all.
    """

    benchmark: str
    read: int
    of: int
    refused: str = ""

    @property
    def task(self) -> str:
        return self.benchmark if self._is_read else ANY

    @property
    def words(self) -> str:
        return self.benchmark if self._is_read else OTHER

    @property
    def _is_read(self) -> bool:
        return 2 * self.read >= self.of


def fit_of_file(path: Path, how: How, task: str | None = None) -> Fit:
    """The benchmark whose parser reads most of the first stories of a file.

    Args:
        path: The file.
        how: How it is read.
        task: The task that a person named; its parser is then the only one.

    Raises:
        UserError: As :func:`open_answers`.
    """
    reader, rows = open_answers(path, registry.get(task or ANY), ("story", "question"), how)
    examples = [reader.answer(*row).example for row in islice(rows, _TRIED)]
    if task is None:
        return max((_fit(each, examples) for each in LANGUAGES.values()), key=lambda fit: fit.read)
    language = language_of(registry.get(task).benchmark)
    return _fit(language, examples) if language else Fit(task, 0, len(examples))


def _fit(language: Language, examples: Sequence[Example]) -> Fit:
    refusals = [_refusal(language, example) for example in examples]
    first = next(filter(None, refusals), "")
    return Fit(language.name, refusals.count(""), len(examples), first)


def _refusal(language: Language, example: Example) -> str:
    """What a parser says of a story and question that it does not read."""
    try:
        question = language.question(example.question)
        language.story(example.story, asked_about(question))
    except ParseError as error:
        return str(error)
    return ""
