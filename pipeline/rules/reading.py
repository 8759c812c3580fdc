"""Reading examples for the audit, each story once.

Stories of Hi-ToM, ToMi and ExploreToM, and of generators that write in their words, are parsed and
replayed; of every other text, only the candidate answers that it mentions are found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.tasks.example import Example
from pipeline.tom.language import language_of
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import WhereQuestion
from pipeline.tom.shortcut import Surface, read_surface

_WORD = re.compile(r"[\w'-]+")
_ARTICLES = ("a", "an", "the")


@dataclass(frozen=True, slots=True)
class Reading:
    """An example as input of the rules.

    Attributes:
        surface: Its parsed story and question; None where they are in no parser's language, or
            could not be read.
        readable: The benchmark's language has a parser.
        mentions: The candidate answers in the order of mention, with repeats.
    """

    example: Example
    surface: Surface | None
    readable: bool
    mentions: tuple[str, ...]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The distinct places of the kind asked for, in order of first mention."""
        if self.surface is not None and isinstance(self.surface.question, WhereQuestion):
            return tuple(self.surface.candidates)
        return tuple(dict.fromkeys(self.mentions))


def read_all(examples: Sequence[Example]) -> list[Reading]:
    """Read examples; one that its parser rejects has no surface."""
    vocabulary = _Vocabulary.of(examples)
    return [
        Reading(
            example,
            _surface(example),
            language_of(example.benchmark) is not None,
            vocabulary.mentions(example),
        )
        for example in examples
    ]


def words_of(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _surface(example: Example) -> Surface | None:
    language = language_of(example.benchmark)
    if language is None:
        return None
    try:
        return read_surface(language, example.story, example.question, example.choices or ())
    except ParseError:
        return None


_Index = dict[str, list[tuple[tuple[str, ...], str]]]
"""(words, candidate) by first word, the longest first."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The candidate answers of a set.

    The candidates of a question are its choices, or else the gold answers that the set gives to
    questions of the same type. A test taker knows less, so rules built on it are an upper bound.
    """

    indices: dict[tuple[str, ...], _Index]
    found: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> _Vocabulary:
        candidates: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for example in examples:
            if example.answer_kind == "span":
                candidates[_group(example)].update(example.choices or (example.answer,))
        return cls({group: _index(names) for group, names in candidates.items()})

    def mentions(self, example: Example) -> tuple[str, ...]:
        """The candidates that the story mentions, in order; labels are not looked for."""
        if example.answer_kind != "span":
            return ()
        key = (_group(example), example.story)
        if key not in self.found:
            self.found[key] = _scan(words_of(example.story), self.indices[key[0]])
        return self.found[key]


def _group(example: Example) -> tuple[str, ...]:
    """The key of a question's candidates: its choices, or else its type."""
    return example.choices or (example.benchmark, example.question_type)


def _index(candidates: Iterable[str]) -> _Index:
    index: _Index = defaultdict(list)
    for candidate in sorted(candidates):
        words = words_of(candidate)
        words = words[1:] if words[:1] and words[0] in _ARTICLES else words
        if words:
            index[words[0]].append((words, candidate))
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return dict(index)


def _scan(words: tuple[str, ...], index: _Index) -> tuple[str, ...]:
    """The candidates in a text, from left to right, the longest match at each word."""
    found, position = [], 0
    while position < len(words):
        step = 1
        for candidate, name in index.get(words[position], ()):
            if words[position : position + len(candidate)] == candidate:
                found.append(name)
                step = len(candidate)
                break
        position += step
    return tuple(found)
