"""From the text of a response to sentences of words that have a role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pipeline.tom.claims.lexicon import ROLES, Role

# Underscores separate words: "blue_crate" and "blue crate" are the same place. What stands in
# parentheses is left out, but for a single name, as in "the last location (blue_crate)".
_TOKEN = re.compile(
    r"(?P<word>[^\W_]+(?:['’][a-z]{1,2}\b)?)|(?P<sign>[.!?;:,)\n]|\((?![a-z]{1,20}_[a-z_]{1,30}\)))"
)
_NAME_WORDS = re.compile(r"[^\W_]+")
_ENDS = frozenset(".!?;\n")
_SIGNS = {",": Role.COMMA, ":": Role.COLON}
_PRONOUNS = frozenset({Role.HE, Role.IT, Role.THERE, Role.THAT, Role.THEY})


@dataclass(slots=True)
class Token:
    """A word with a role, a name of several words, or a sign.

    Attributes:
        role: What it does.
        value: A name as the story has it, else the word in lower case.
        start: Where it begins in the text, in characters.
        end: Where it ends.
        owner: Whether it is in the possessive: "Ann's".
    """

    role: Role
    value: str
    start: int
    end: int
    owner: bool = False


Name = tuple[tuple[str, ...], Role, str]
"""The words of a name in lower case, what it names, and the name as the story has it."""

Names = tuple[Name, ...]
"""Names that begin with the same word, the longest first."""


@dataclass(frozen=True)
class Vocabulary:
    """The names of a story."""

    people: frozenset[str]
    objects: frozenset[str]
    containers: frozenset[str]
    rooms: frozenset[str] = frozenset()
    sentences: frozenset[tuple[str, ...]] = frozenset()

    @cached_property
    def words(self) -> Mapping[str, Role | Names]:
        """What a word in lower case may be: the names that begin with it, else its role."""
        begin: dict[str, list[Name]] = {}
        kinds = (
            (self.people, Role.PERSON),
            (self.objects, Role.OBJECT),
            (self.containers, Role.CONTAINER),
            (self.rooms - self.containers, Role.ROOM),
        )
        for names, role in kinds:
            for name in sorted(names):
                if words := tuple(word.lower() for word in _NAME_WORDS.findall(name)):
                    for first in {words[0], words[0].removesuffix("s")}:
                        begin.setdefault(first, []).append((words, role, name))
        found: dict[str, Role | Names] = dict(ROLES)
        found.update({w: tuple(sorted(n, key=lambda e: -len(e[0]))) for w, n in begin.items()})
        return found


def sentences(text: str, vocabulary: Vocabulary) -> Iterator[list[Token]]:
    """Yield the sentences of a text, without what stands in parentheses; empty ones are left out.

    A line ends a sentence, too. Words without a role are left out.
    """
    for words in _split(text):
        if words and tuple(plain_words(words)) not in vocabulary.sentences:
            yield list(_with_names(words, vocabulary))


def plain_words(words: Iterable[re.Match[str]]) -> Iterator[str]:
    """Yield words in lower case, without signs and the number of a list."""
    for position, match in enumerate(words):
        if match["word"] and not (position == 0 and match["word"].isdigit()):
            yield match["word"].lower()


def sentences_of(text: str) -> frozenset[tuple[str, ...]]:
    """Return the sentences of a text, as words in lower case."""
    return frozenset(tuple(plain_words(words)) for words in _split(text))


def _split(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the words and signs of one sentence after the other."""
    sentence: list[re.Match[str]] = []
    deep = 0
    for match in _TOKEN.finditer(text):
        sign = match["sign"]
        if sign == "(":
            deep += 1
        elif sign == ")":
            deep = max(0, deep - 1)
        elif sign is not None and sign in _ENDS:
            if sign == "." and _is_number(sentence, match):
                continue
            yield sentence
            sentence, deep = [], 0
        elif not deep:
            sentence.append(match)
    yield sentence


def _is_number(sentence: list[re.Match[str]], stop: re.Match[str]) -> bool:
    """Return whether a full stop ends the number of a list, as in "1. The lime is"."""
    return len(sentence) == 1 and sentence[0].group().isdigit() and stop.start() > 0


def _with_names(words: list[re.Match[str]], vocabulary: Vocabulary) -> Iterator[Token]:
    known, position, count = vocabulary.words, 0, len(words)
    while position < count:
        match = words[position]
        position += 1
        text = match.group().lower()
        if (role := _SIGNS.get(text)) is not None:
            yield Token(role, text, match.start(), match.end())
            continue
        word, ending = _parts(text)
        found = known.get(word)
        if isinstance(found, tuple):
            name = _name_at(words, position - 1, found)
            if name is not None:
                length, role, value = name
                position += length - 1
                last = words[position - 1]
                owner = bool(_parts(last.group())[1])
                yield Token(role, value, match.start(), last.end(), owner)
                continue
            found = ROLES.get(word)
        if ending == "t":  # "doesn't"
            yield Token(Role.NOT, "not", match.start(), match.end())
        elif found is not None:
            yield Token(found, word, match.start(), match.end())
            if ending == "s" and found in _PRONOUNS:  # "it's"
                yield Token(Role.BE, "is", match.start(), match.end())


def _parts(word: str) -> tuple[str, str]:
    """Return a word without its apostrophe, and what follows it: ``("jack", "s")``."""
    if word.isalnum():
        return word, ""
    for mark in ("'", "’"):
        head, found, ending = word.partition(mark)
        if found:
            return head, ending
    return word, ""


def _name_at(
    words: list[re.Match[str]],
    position: int,
    candidates: Names,
) -> tuple[int, Role, str] | None:
    """Return (words, role, name) of the longest name that begins here."""
    for parts, role, name in candidates:
        if role is Role.PERSON and not words[position].group()[0].isupper():
            continue
        there = words[position : position + len(parts)]
        if len(there) == len(parts) and all(
            not match["sign"] and _same(_parts(match.group().lower())[0], part)
            for match, part in zip(there, parts, strict=True)
        ):
            return len(parts), role, name
    return None


def _same(word: str, part: str) -> bool:
    return word == part or (len(part) > 3 and part in (word + "s", word.removesuffix("s")))
