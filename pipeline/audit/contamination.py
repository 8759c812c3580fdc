"""Contamination: overlap of a test set with a training set, in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.audit.records import Leak
from pipeline.base.errors import UserError
from pipeline.config.data import Split
from pipeline.data.origin import structure_of
from pipeline.rules.reading import words_of
from pipeline.tasks.example import Example

NGRAM = 13
"""Length in words, usual since GPT-3 (Brown et al. 2020, arXiv 2005.14165, appendix C). Templated
stories share them more easily.
"""
_SHOWN = 5

Ngram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Overlap of a test set with a training set.

    Attributes:
        rows: Number of test examples.
        ngram_words: Words in an n-gram.
        ngram_share: Mean share of a test example's n-grams that stand in training.
        found: Ids of the overlapping test examples by kind: ``story`` (the same story, also if
            retold), ``normalised_story`` (its text but for case, punctuation and spacing),
            ``structure`` (its events, whatever the names), ``question`` (the wording of the
            question alone), ``item`` (normalised story and question), ``ngram`` (at least one
            n-gram of story or question).
        unread: Number of test examples of unknown structure.
    """

    rows: int
    ngram_words: int
    ngram_share: float
    found: Mapping[str, tuple[str, ...]]
    unread: int = 0

    @property
    def leaked(self) -> int:
        return len(self.found["story"])

    def record(self) -> Leak:
        """Counts and the first ids of each kind."""
        counts = {kind: len(ids) for kind, ids in self.found.items() if kind != "story"}
        return Leak(
            rows=self.rows,
            leaked=self.leaked,
            unread=self.unread,
            **counts,
            ngram_words=self.ngram_words,
            ngram_share=self.ngram_share,
            examples={kind: list(ids[:_SHOWN]) for kind, ids in self.found.items() if ids},
        )


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """An index of a training set."""

    length: int
    keys: Mapping[str, frozenset[Hashable]]
    ngrams: frozenset[Ngram]

    @classmethod
    def of(cls, training: Iterable[Example], length: int = NGRAM) -> Fingerprints:
        keys: dict[str, set[Hashable]] = {kind: set() for kind in _KEYS}
        ngrams: set[Ngram] = set()
        for text in _once(training):
            ngrams.update(_ngrams(words_of(text), length))
        for example in training:
            for kind, key in _keys(example).items():
                if key is not None:
                    keys[kind].add(key)
        return cls(length, {k: frozenset(v) for k, v in keys.items()}, frozenset(ngrams))

    def overlap(self, test: Sequence[Example]) -> Overlap:
        found: dict[str, list[str]] = {kind: [] for kind in (*_KEYS, "ngram")}
        shares = {text: self._shared(text) for text in _once(test)}
        total, unread = 0.0, 0
        for example in test:
            keys = _keys(example)
            unread += keys["structure"] is None
            for kind, key in keys.items():
                if key in self.keys[kind]:
                    found[kind].append(example.id)
            share = max(shares[text] for text in _texts(example))
            total += share
            if share:
                found["ngram"].append(example.id)
        ids = {kind: tuple(shared) for kind, shared in found.items()}
        return Overlap(len(test), self.length, total / len(test) if test else 0.0, ids, unread)

    def _shared(self, text: str) -> float:
        ngrams = _ngrams(words_of(text), self.length)
        return len(ngrams & self.ngrams) / len(ngrams) if ngrams else 0.0


def refuse_contamination(split: Split, overlaps: Mapping[str, Overlap]) -> None:
    """Refuse test sets that share stories with training, unless the split is the published one."""
    leaks = {
        name: len({*overlap.found["story"], *overlap.found["normalised_story"]})
        for name, overlap in overlaps.items()
    }
    if split != "published" and any(leaks.values()):
        found = ", ".join(
            f"{count} of {overlaps[name].rows} rows of {name}"
            for name, count in leaks.items()
            if count
        )
        raise UserError(
            f"test rows use stories of the training set: {found}. The study says split: {split}; "
            "choose parts that share no story (`fold`), or say split: published to keep the "
            "papers' splits"
        )


_KEYS = ("story", "normalised_story", "structure", "question", "item")


def _keys(example: Example) -> dict[str, Hashable]:
    """The keys of an example by kind; arithmetic has no story but its question."""
    question = " ".join(words_of(example.question))
    story = " ".join(words_of(example.story)) or question
    return {
        "story": example.story_id,
        "normalised_story": story,
        "structure": structure_of(example),
        "question": question,
        "item": (story, question),
    }


def _texts(example: Example) -> tuple[str, ...]:
    return (example.story, example.question) if example.story else (example.question,)


def _once(examples: Iterable[Example]) -> Iterator[str]:
    """Yield every text once: several questions share a story."""
    return iter(dict.fromkeys(text for example in examples for text in _texts(example)))


def _ngrams(words: Ngram, length: int) -> frozenset[Ngram]:
    return frozenset(zip(*(words[start:] for start in range(length)), strict=False))
