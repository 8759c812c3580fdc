"""Places that a response makes up, found where a place must come: after "in"."""

from __future__ import annotations

import re

from pipeline.tom.claims.lexicon import ROLES, Role
from pipeline.tom.claims.vocabulary import DETERMINERS, Vocabulary, name_at

_GENERIC = frozenset(
    {"room", "story", "house", "scene", "area", "way", "text", "possession", "hand", "hands"}
    | {"care", "custody", "middle", "past", "future", "end", "situation", "world", "head"}
)
"""Nouns after "in the" that are no places of things."""

_LONGEST = 3
_AFTER = frozenset({Role.AND, Role.BREAK, Role.WHEN, Role.IF, Role.NOW})
"""What may come after a place."""


def begin_of_place(words: list[re.Match[str]], position: int) -> int:
    """Where a name may begin, given the position after "in"."""
    named = position < len(words) and words[position].group().lower() in DETERMINERS
    return position + named


def place_made_up(
    words: list[re.Match[str]], start: int, vocabulary: Vocabulary
) -> tuple[int, str] | None:
    """(words, name) of the place that begins with an unknown word, if it is one.

    "The garage", "green_suitcase": with an article or an underscore, and nothing after it that
    could belong to it.
    """
    end = start + 1
    while end < len(words) and _is_unknown(words, end, vocabulary):
        end += 1
    name = tuple(match.group().lower() for match in words[start : min(end, start + _LONGEST)])
    if len(name) < end - start or name in vocabulary.heads or name[-1] in _GENERIC:
        return None
    goes_on = end < len(words) and not words[end]["sign"]
    after = words[end].group().lower() if goes_on else ""
    if goes_on and (after in vocabulary.names or ROLES.get(after) not in _AFTER):
        return None
    named = words[start - 1].group().lower() in DETERMINERS
    joined = words[start].string.startswith("_", words[start].end())
    return (len(name), "_".join(name)) if named or joined else None


def _is_unknown(words: list[re.Match[str]], position: int, vocabulary: Vocabulary) -> bool:
    """Whether a word is none that the reader or the story has."""
    match = words[position]
    word = match.group().lower()
    if match["sign"] or word in ROLES:
        return False
    return name_at(words, position, vocabulary.names.get(word, ())) is None
