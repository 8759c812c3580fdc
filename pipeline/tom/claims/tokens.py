"""From the text of a response to sentences of words that have a role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.tom.claims.invented import begin_of_place, place_made_up
from pipeline.tom.claims.lexicon import ROLES, Role
from pipeline.tom.claims.vocabulary import Vocabulary, name_at, parts_of

# Underscores separate words: "blue_crate" and "blue crate" are the same place. What stands in
# parentheses is left out, but for a single name, as in "the last location (blue_crate)".
_TOKEN = re.compile(
    r"(?P<word>[^\W_]+(?:['’][a-z]{1,2}\b)?)|(?P<sign>[.!?;:,)\n]|\((?![a-z]{1,20}_[a-z_]{1,30}\)))"
)
_ENDS = frozenset(".!?;\n")
_SIGNS = {",": Role.COMMA, ":": Role.COLON, "?": Role.ASKED}
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


def sentences(text: str, vocabulary: Vocabulary) -> Iterator[tuple[list[Token], bool]]:
    """Yield the sentences of a text, without what stands in parentheses; empty ones are left out.

    With each, whether it is copied from the story.

    A line ends a sentence, too. Words without a role are left out.
    """
    for words in _split(text):
        if words:
            copied = tuple(plain_words(words)) in vocabulary.sentences
            yield list(_with_names(words, vocabulary)), copied


def plain_words(words: Iterable[re.Match[str]]) -> Iterator[str]:
    """Yield words in lower case, without signs and the number of a list."""
    for position, match in enumerate(words):
        if match["word"] and not (position == 0 and match["word"].isdigit()):
            yield match["word"].lower()


def sentences_of(text: str) -> frozenset[tuple[str, ...]]:
    """The sentences of a text, as words in lower case."""
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
    """Whether all that a sentence has is the number of a list, as in "1. The lime is"."""
    return len(sentence) == 1 and sentence[0].group().isdigit()


def _with_names(words: list[re.Match[str]], vocabulary: Vocabulary) -> Iterator[Token]:
    known, position, count, place = vocabulary.words, 0, len(words), -1
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
        found = known.get(word)
        if isinstance(found, tuple):
            if (name := name_at(words, position - 1, found)) is not None:
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
