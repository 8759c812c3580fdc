"""Tokenising a response into sentences of words with roles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tom.claims.words import (
    ROLES,
    WORD,
    Role,
    Vocabulary,
    begin_of_place,
    name_at,
    parts_of,
    place_made_up,
)

# What stands in parentheses is left out, but for a single name: "the last location (blue_crate)".
_TOKEN = re.compile(
    rf"(?P<word>{WORD.pattern})|(?P<sign>[.!?;:,)\n]|\((?![a-z]{{1,20}}_[a-z_]{{1,30}}\)))"
)
_ENDS = frozenset(".!?;\n")
_SIGNS = {",": Role.COMMA, ":": Role.COLON, "?": Role.ASKED}
_PRONOUNS = frozenset({Role.HE, Role.IT, Role.THERE, Role.THAT, Role.THEY})


@dataclass(slots=True)
class Token:
    """A word with a role, a name of several words, or a sign.

    Attributes:
        value: A name as the story has it, else the word in lower case.
        start: Offset in the text, in characters.
        end: Offset of its end.
        owner: Possessive: "Ann's".
    """

    role: Role
    value: str
    start: int
    end: int
    owner: bool = False


Words = Sequence[re.Match[str]]


def sentences(text: str, vocabulary: Vocabulary) -> Iterator[tuple[list[Token], Words]]:
    """Yield (tokens, words) of each sentence that is not empty; lines end sentences, too.

    Text in parentheses is left out. Words without a role are no tokens.
    """
    for words in _split(text):
        if words:
            yield list(_with_names(words, vocabulary)), words


def is_copied(words: Words, vocabulary: Vocabulary) -> bool:
    """The sentence stands in the story. Few do, so a set of its words is tested first."""
    plain = tuple(plain_words(words))
    return vocabulary.story_words.issuperset(plain) and plain in sentences_of(vocabulary.story)


def plain_words(words: Iterable[re.Match[str]]) -> Iterator[str]:
    """Yield words in lower case, without signs and the number of a list item."""
    for position, match in enumerate(words):
        if match["word"] and not (position == 0 and match["word"].isdigit()):
            yield match["word"].lower()


@lru_cache(maxsize=256)  # the sentences of a response are about one story
def sentences_of(text: str) -> frozenset[tuple[str, ...]]:
    """Sentences as tuples of words in lower case."""
    return frozenset(tuple(plain_words(words)) for words in _split(text))


def _split(text: str) -> Iterator[list[re.Match[str]]]:
    sentence: list[re.Match[str]] = []
    deep = 0
    for match in _TOKEN.finditer(text):
        sign = match[2]
        if sign is None:
            if not deep:
                sentence.append(match)
        elif sign == "(":
            deep += 1
        elif sign == ")":
            deep = max(0, deep - 1)
        elif sign in _ENDS:
            if sign == "." and _is_number(sentence):
                continue
            if sign == "?" and not deep:
                sentence.append(match)
            yield sentence
            sentence, deep = [], 0
        elif not deep:
            sentence.append(match)
    yield sentence


def _is_number(sentence: list[re.Match[str]]) -> bool:
    """The sentence is only the number of a list item, as in "1. The lime is"."""
    return len(sentence) == 1 and sentence[0].group().isdigit()


def _with_names(words: list[re.Match[str]], vocabulary: Vocabulary) -> Iterator[Token]:
    names, position, count, place = vocabulary.names, 0, len(words), -1
    while position < count:
        match = words[position]
        position += 1
        text = match.group().lower()
        word, ending = text, ""
        if not text.isalnum():
            if (role := _SIGNS.get(text)) is not None:
                yield Token(role, text, match.start(), match.end())
                continue
            word, ending = parts_of(text)
        begin = names.get(word)
        if begin and (name := name_at(words, position - 1, begin)) is not None:
            length, role, value = name
            position += length - 1
            last = words[position - 1]
            owner = bool(parts_of(last.group())[1])
            yield Token(role, value, match.start(), last.end(), owner)
            continue
        found = ROLES.get(word)
        if ending == "t":  # "doesn't"
            yield Token(Role.NOT, "not", match.start(), match.end())
        elif found is not None:
            yield Token(found, word, match.start(), match.end())
            if found is Role.IN:
                place = begin_of_place(words, position)
            elif ending == "s" and found in _PRONOUNS:  # "it's"
                yield Token(Role.BE, "is", match.start(), match.end())
        elif position - 1 == place and (made_up := place_made_up(words, place, vocabulary)):
            length, value = made_up
            position += length - 1
            yield Token(Role.INVENTED, value, match.start(), words[position - 1].end())
