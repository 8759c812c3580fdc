"""The languages that the engine reads: everything particular to one benchmark, in one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.tom import rules
from pipeline.tom.parse import explore_tom, hi_tom, tomi
from pipeline.tom.parse.text import (
    LONGEST_QUESTION,
    LONGEST_STORY,
    ParsedStory,
    ParseError,
    check_length,
)
from pipeline.tom.question import NOW, Question, WhereQuestion
from pipeline.tom.rules import Rules
from pipeline.tom.state import object_of

PLAIN, UPSTREAM, RELEASED = "plain", "upstream", "released"


@dataclass(frozen=True, eq=False)
class Language:
    """Syntax and semantics of one benchmark's stories.

    Attributes:
        parse: From a story, and the objects asked about, to its events. Raises ParseError at the
            first sentence that is not in the language.
        question: From text to a question. Raises ParseError if it is not in the language.
        rules: How beliefs change, by name: as a person reads it (``plain``), and as the benchmark's
            labels were made (``upstream``; of ToMi's older archive ``released``).
        in_full: From a shorter telling of a story to the benchmark's words.
        needs_object: Some sentences cannot be read without the object that the question names.
    """

    name: str
    parse: Callable[[str, tuple[str, ...]], ParsedStory]
    question: Callable[[str], Question]
    rules: Mapping[str, Rules]
    in_full: Callable[[str], str] = str
    needs_object: bool = False

    def story(self, text: str, hint: str = "") -> ParsedStory:
        """Parse a story; ``hint`` is the object asked about, or a clause that begins with it."""
        check_length(self.name, text, LONGEST_STORY)
        check_length(self.name, hint, LONGEST_QUESTION)
        objects = object_of(hint, text) if self.needs_object else ()
        return self.parse(self.in_full(text), objects)

    def place_asked(self, text: str) -> WhereQuestion | None:
        """A question about the place of an object at the end; None of any other."""
        try:
            asked = self.question(text)
        except ParseError:
            return None
        return asked if isinstance(asked, WhereQuestion) and asked.when == NOW else None

    def rules_named(self, name: str) -> Rules:
        """Rules by name; ValueError for an unknown one."""
        if name not in self.rules:
            allowed = ", ".join(self.rules)
            raise ValueError(f"{self.name} has no rules {name!r}; allowed: {allowed}")
        return self.rules[name]


HI_TOM = Language(
    name="hi_tom",
    parse=lambda text, _: hi_tom.parse_story(text),
    question=hi_tom.parse_question,
    rules={PLAIN: rules.HI_TOM, UPSTREAM: rules.HI_TOM},
    in_full=hi_tom.in_full,
)
TOMI = Language(
    name="tomi",
    parse=lambda text, _: tomi.parse_story(text),
    question=tomi.parse_question,
    rules={
        PLAIN: rules.TOMI_PLAIN,
        UPSTREAM: rules.TOMI_UPSTREAM,
        RELEASED: rules.TOMI_RELEASED,
    },
)
EXPLORE_TOM = Language(
    name="explore_tom",
    parse=explore_tom.parse_story,
    question=explore_tom.parse_question,
    rules={PLAIN: rules.EXPLORE_TOM_PLAIN, UPSTREAM: rules.EXPLORE_TOM},
    needs_object=True,
)
LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {language.name: language for language in (HI_TOM, TOMI, EXPLORE_TOM)}
)
"""By benchmark."""


def get_language(benchmark: str) -> Language:
    """The language of a benchmark; ValueError for an unknown one."""
    if benchmark not in LANGUAGES:
        raise ValueError(f"unknown benchmark {benchmark!r}; allowed: {', '.join(LANGUAGES)}")
    return LANGUAGES[benchmark]


def language_of(benchmark: str) -> Language | None:
    """The language of a benchmark's stories, as Hi-ToM's for ``hi_tom_style``, or None."""
    for name, language in LANGUAGES.items():
        if benchmark == name or benchmark.startswith(f"{name}_"):
            return language
    return None
