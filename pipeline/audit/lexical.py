"""Lexical dependence: the information of single words about the answer.

The score is I(Z;Y) / H(Y), which arXiv 2606.09092 proposes for theory-of-mind data sets, where 0.15
or more counts as a flag. What that paper takes for Z could not be read by us, so the level of our
figures need not be that of theirs. Here:

- Y is the gold answer; of lettered options, which of them is right.
- Z is where one word stands: in the story, in the question, in which options, or nowhere. The story
  counts only where the answer is a label, since any other answer must stand in it anyway.

The score of a set of questions of one type is that of its most telling word. The word is chosen on
one half of the stories and scored on the other, so that neither the choice among thousands of words
nor a word that belongs to one story counts. Single words keep the estimate nearly unbiased at these
sizes, and can be named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from zlib import crc32

from pipeline.audit.records import Lexical
from pipeline.audit.statistics import dependence
from pipeline.rules.reading import words_of
from pipeline.tasks.example import Example

LEXICAL_FLAG = 0.15
_LABELS = ("choice", "yes_no", "label")
_FEWEST_ROWS = 25  # in each half
_SMALLEST_SHARE = 0.02
"""Minimum share of the examples with the word, and without it or with it elsewhere."""

Place = tuple[str, ...]
_NOWHERE: Place = ()


def lexical_dependence(examples: Sequence[Example]) -> Lexical:
    """The most telling word of questions of one type; None for few examples."""
    halves: tuple[list[Example], list[Example]] = ([], [])
    for example in examples:
        halves[crc32(example.story_id.encode()) % 2].append(example)
    if min(map(len, halves)) < _FEWEST_ROWS:
        return Lexical(score=0.0, word="")
    chosen = _scores(halves[0])
    word = max(chosen, key=lambda word: chosen[word], default="")
    return Lexical(score=_scores(halves[1]).get(word, 0.0), word=word)


def _scores(examples: Sequence[Example]) -> dict[str, float]:
    """I(Z;Y) / H(Y) of every word that is frequent enough."""
    answers = [_answer(example) for example in examples]
    total = Counter(answers)
    return {
        word: dependence(_with_absent(pairs, total))
        for word, pairs in sorted(_where_words_stand(examples, answers).items())
        if _varies(pairs, len(examples))
    }


def _answer(example: Example) -> str:
    if example.answer_kind == "choice" and example.answer in (example.choices or ()):
        return str((example.choices or ()).index(example.answer))
    return example.answer


Pairs = Counter[tuple[Place, str]]


def _where_words_stand(examples: Sequence[Example], answers: Sequence[str]) -> dict[str, Pairs]:
    """Count, for each word, its (position, answer) pairs."""
    stories: dict[str, frozenset[str]] = {}
    table: dict[str, Pairs] = defaultdict(Counter)
    for example, answer in zip(examples, answers, strict=True):
        if example.story not in stories:
            stories[example.story] = frozenset(words_of(example.story))
        places: dict[str, list[str]] = defaultdict(list)
        if example.answer_kind in _LABELS:
            for word in stories[example.story]:
                places[word].append("story")
        for word in frozenset(words_of(example.question)):
            places[word].append("question")
        if example.answer_kind == "choice":
            for index, option in enumerate(example.choices or ()):
                for word in frozenset(words_of(option)):
                    places[word].append(f"option {index + 1}")
        for word, found in places.items():
            table[word][tuple(found), answer] += 1
    return table


def _varies(pairs: Pairs, rows: int) -> bool:
    """The word is frequent enough, and not always in the same place."""
    places: Counter[Place] = Counter()
    for (place, _), count in pairs.items():
        places[place] += count
    fewest = _SMALLEST_SHARE * rows
    return places.total() >= fewest and rows - max(places.values()) >= fewest


def _with_absent(pairs: Pairs, total: Mapping[str, int]) -> Pairs:
    present: Counter[str] = Counter()
    for (_, answer), count in pairs.items():
        present[answer] += count
    absent = {(_NOWHERE, y): n - present[y] for y, n in total.items() if n > present[y]}
    return pairs + Counter(absent)
