"""The names of a story, and where they stand in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pipeline.tom.claims.lexicon import ROLES, Role

WORD = re.compile(r"[^\W_]+(?:['’][a-z]{1,2}\b)?")
"""A word of a text. Underscores separate words: "blue_crate" and "blue crate" are the same."""

DETERMINERS = frozenset({"the", "same", "a", "an"})
_NAME_WORDS = re.compile(r"[^\W_]+")

Name = tuple[tuple[str, ...], Role, str, bool]
"""The words of a name in lower case, what it names, the name as the story has it, and whether the
words are but the end of it: "box" of "red_box"."""

Names = tuple[Name, ...]
"""Names that begin with the same word, the longest first."""


@dataclass(frozen=True)
class Vocabulary:
    """The names of a story, and of places that it need not have; and its text."""

    people: frozenset[str]
    objects: frozenset[str]
    containers: frozenset[str]
    rooms: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    story: str = ""

    @cached_property
    def everyone(self) -> tuple[str, ...]:
        """All people, in one order."""
        return tuple(sorted(self.people))

    @cached_property
    def story_words(self) -> frozenset[str]:
        """The words of the story, in lower case."""
        return frozenset(word.lower() for word in WORD.findall(self.story))

    @cached_property
    def heads(self) -> Mapping[tuple[str, ...], str]:
        """What the names of containers end with, such as ``("box",)``, and the one that ends so.

        The empty text, where several do.
        """
        heads: dict[tuple[str, ...], str] = {}
        for name in self.containers:
            words = tuple(_NAME_WORDS.findall(name.lower()))
            for start in range(1, len(words)):
                heads[words[start:]] = "" if words[start:] in heads else name
        return heads

    @cached_property
    def names(self) -> Mapping[str, Names]:
        """The names that begin with a word in lower case."""
        begin: dict[str, list[Name]] = {}
        kinds = (
            (self.people, Role.PERSON),
            (self.objects, Role.OBJECT),
            (self.containers | self.options, Role.CONTAINER),
            (self.rooms - self.containers, Role.ROOM),
        )
        for names, role in kinds:
            for name in sorted(names):
                if words := tuple(word.lower() for word in _NAME_WORDS.findall(name)):
                    for first in {words[0], words[0].removesuffix("s")}:
                        begin.setdefault(first, []).append((words, role, name, False))
        for words, name in self.heads.items():
            if name and words[0] not in ROLES:
                begin.setdefault(words[0], []).append((words, Role.CONTAINER, name, True))
        return {w: tuple(sorted(n, key=lambda e: -len(e[0]))) for w, n in begin.items()}


def parts_of(word: str) -> tuple[str, str]:
    """A word without its apostrophe, and what follows it: ``("jack", "s")``."""
    if word.isalnum():
        return word, ""
    for mark in ("'", "’"):
        head, found, ending = word.partition(mark)
        if found:
            return head, ending
    return word, ""


def name_at(
    words: list[re.Match[str]],
    position: int,
    candidates: Names,
) -> tuple[int, Role, str] | None:
    """(words, role, name) of the longest name that begins here."""
    for parts, role, name, head in candidates:
        if head and not (position and words[position - 1].group().lower() in DETERMINERS):
            continue
        if role is Role.PERSON and not words[position].group()[0].isupper():
            continue
        if _stands_at(words, position, parts):
            return len(parts), role, name
    return None


def _stands_at(words: list[re.Match[str]], position: int, parts: tuple[str, ...]) -> bool:
    """Whether the words of a name, in lower case, begin at a position."""
    if position + len(parts) > len(words):
        return False
    for place, part in enumerate(parts, position):
        text = words[place].group().lower()
        if text != part and (words[place]["sign"] or not _same(parts_of(text)[0], part)):
            return False
    return True


def _same(word: str, part: str) -> bool:
    return word == part or (len(part) > 3 and part in (word + "s", word.removesuffix("s")))
