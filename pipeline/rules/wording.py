"""An open class of rules: a linear model of a story's wording, without our features.

Each sentence becomes a word of its own, in which names are replaced by their role: the agents asked
about by their place in the question, other agents, the candidate answer, other places. A candidate
is described by these words, their neighbours, their places from the front and the back, and which
comes before which, and by the form of its name. Logistic regression (scikit-learn) says which
candidate is most likely; it answers only questions about stories that it was not fitted to.

Both classes can miss a rule, so a finding of "no rule" has to name the classes fitted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from pipeline.rules.form import FORM_RULES
from pipeline.rules.learned import FEWEST, FOLDS, CrossFitted, folds_of
from pipeline.rules.reading import Reading
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import Remark, Stay
from pipeline.tom.structure import named_parts

WORDING = "wording"
"""Name of this class in tables."""

MOST_FITTED = 2000
"""Maximum number of questions in a fit; beyond it, stories are thinned evenly."""

_MOST_PAIRED = 60
"""Maximum number of sentences for which all ordered pairs are features."""

_STRENGTH, _RAREST = 0.1, 5
"""Inverse penalty on weights; minimum number of candidates with a feature."""

_NAME = re.compile(r"\b[A-Z]\w+")
Described = tuple[tuple[str, ...], ...]
"""The features of each candidate of a question."""

_Parts = Sequence[tuple[str, tuple[str, ...]]]
_Told = tuple[WhereQuestion, Sequence[tuple[str, _Parts]]]


def describe(asked: Sequence[SurfaceQuestion], readings: Sequence[Reading]) -> list[Described]:
    return [
        tuple(_described(candidate, question, reading, told) for candidate in question.candidates)
        for question, reading in zip(asked, readings, strict=True)
        for told in [_told(reading)]
    ]


def _told(reading: Reading) -> _Told | None:
    """The question about a story that was read, and its events: their kinds and names."""
    if reading.surface is None or not isinstance(reading.surface.question, WhereQuestion):
        return None
    events = (e for e in reading.surface.story.events if not isinstance(e, Remark | Stay))
    kinds = [(type(event).__name__, list(named_parts(event))) for event in events]
    return reading.surface.question, kinds


def _described(
    candidate: str, asked: SurfaceQuestion, reading: Reading, told: _Told | None
) -> tuple[str, ...]:
    words = _words(candidate, asked, reading, told)
    count = len(words)
    pairs = combinations(words, 2) if count <= _MOST_PAIRED else ()
    found = chain(
        words,
        (f"{place}@{word}" for place, word in enumerate(words)),
        (f"-{count - place}@{word}" for place, word in enumerate(words)),
        (" > ".join(words[place : place + 2]) for place in range(count - 1)),
        (" > ".join(words[place : place + 3]) for place in range(count - 2)),
        (f"{one} .. {other}" for one, other in pairs),
        _form(candidate, asked, reading),
    )
    return tuple(dict.fromkeys(found))


def _words(
    candidate: str, asked: SurfaceQuestion, reading: Reading, told: _Told | None
) -> list[str]:
    """The sentences of the story, each as one word."""
    if told is None:
        return _of_text(candidate, asked, reading)
    question, events = told
    roles = {name: "P" for name in asked.candidates} | {candidate: "C"}
    roles |= {name: f"Q{place}" for place, name in enumerate(question.chain)}
    roles[question.object] = "X"
    return [_word(kind, parts, roles) for kind, parts in events]


def _word(kind: str, parts: _Parts, roles: dict[str, str]) -> str:
    words = (
        "".join(sorted(roles.get(name, of[0]) for name in names)) or "-" for of, names in parts
    )
    return " ".join((kind, *words))


def _of_text(candidate: str, asked: SurfaceQuestion, reading: Reading) -> list[str]:
    """The words of a story without a parser, names replaced by their role."""
    example = reading.example
    people = list(dict.fromkeys(_NAME.findall(example.question)))
    text = example.story.replace(candidate, "<C>") if candidate else example.story
    for other in asked.candidates:
        text = text.replace(other, "<P>") if other else text
    found = re.findall(r"<[CP]>|[\w']+", text)
    roles = {name: f"Q{place}" for place, name in enumerate(people)} | {"<C>": "<C>", "<P>": "<P>"}
    return [roles.get(word, word.lower()) for word in found]


def _form(candidate: str, asked: SurfaceQuestion, reading: Reading) -> list[str]:
    example = reading.example
    place = asked.candidates.index(candidate)
    options = example.choices or ()
    found = [f"candidate {place}", f"candidate -{len(asked.candidates) - place}"]
    if candidate in options:
        found.append(f"option {options.index(candidate)}")
    for name, (_, pick) in FORM_RULES.items():
        if pick(asked.candidates, example.question) == candidate:
            found.append(name)
    return found


def _left_out(counted: Sequence[str]) -> Sequence[str]:
    return counted


def counted(rows: Sequence[Sequence[str]]) -> Any:
    """A sparse matrix [row, feature]: 1 where a row has a feature."""
    from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]

    words = CountVectorizer(analyzer=_left_out, binary=True, dtype=np.float32)
    return words.fit_transform(rows)


@dataclass(frozen=True)
class Wording:
    """A fitted logistic regression on the features that enough of its rows have."""

    kept: np.ndarray
    model: Any

    @classmethod
    def fit(cls, counts: Any, chosen: Sequence[bool]) -> Wording | None:
        """Fit to rows of :func:`counted`, and whether each is the answer; None where impossible."""
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

        kept = np.flatnonzero(counts.getnnz(axis=0) >= _RAREST)
        if len(set(chosen)) < 2 or not kept.size:
            return None
        model = LogisticRegression(C=_STRENGTH, solver="liblinear", random_state=0)
        return cls(kept, model.fit(counts[:, kept], np.asarray(chosen)))

    def likely(self, counts: Any) -> np.ndarray:
        odds: np.ndarray = self.model.decision_function(counts[:, self.kept])
        return odds


def cross_fitted_wording(
    asked: Sequence[SurfaceQuestion],
    described: Sequence[Described],
    answers: Sequence[int],
    without: Sequence[int] | None = None,
) -> CrossFitted | None:
    """Out-of-fold predictions from the wording of other stories.

    Args:
        asked: The questions.
        described: The features of their candidates.
        answers: Index of each answer; ``UNDEFINED`` ones are not fitted to.
        without: Index of a candidate of each question to leave out.

    Returns:
        None where some fold has too little to fit.
    """
    folds, said = folds_of(asked), np.full(len(asked), UNDEFINED)
    starts = np.cumsum([0, *map(len, described)])
    try:
        counts = counted([row for each in described for row in each])
    except ValueError:  # nothing describes any candidate
        return None

    def rows_of(questions: Sequence[int]) -> Any:
        return counts[[starts[n] + c for n in questions for c in open_to[n]]]

    open_to = [
        [c for c in range(len(each)) if without is None or c != without[n]]
        for n, each in enumerate(described)
    ]
    for fold in range(FOLDS):
        known = [n for n in np.flatnonzero(folds != fold).tolist() if answers[n] in open_to[n]]
        known = known[:: -(-len(known) // MOST_FITTED)] if known else known
        asked_now = [n for n in np.flatnonzero(folds == fold).tolist() if open_to[n]]
        if len(known) < FEWEST // 2:
            return None
        model = Wording.fit(rows_of(known), [c == answers[n] for n in known for c in open_to[n]])
        if model is None:
            return None
        if not asked_now:
            continue
        odds = model.likely(rows_of(asked_now))
        ends = np.cumsum([len(open_to[n]) for n in asked_now])
        for n, part in zip(asked_now, np.split(odds, ends[:-1]), strict=True):
            said[n] = open_to[n][int(part.argmax())]
    return CrossFitted(WORDING, tuple(said.tolist()))
