"""Learned rules: shallow models of surface features.

The features are those of :mod:`pipeline.rules.surface`, one row for each candidate answer. Boosted
trees of small depth (scikit-learn) rank the candidates. Fitted to gold answers, the rule is a
baseline: the score without following who knows what. Fitted to a model's answers, it may explain
them. Predictions always come from a fit to other stories.

A *list* is a readable learned rule: one rule or cue, and another where that is undefined ("first
claim, else last").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.rules.surface import UNDEFINED, SurfaceQuestion

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]

LEARNED = "learned rule"
"""Its name in tables."""

FOLDS = 5
FEWEST = 50
"""Minimum number of questions for a fit."""

MOST_FITTED = 4000
"""Maximum number of questions in a fit; beyond it, stories are thinned evenly."""

_ROUNDS, _DEPTH, _RATE, _LEAF = 80, 4, 0.15, 10


class LearnedRule:
    """Boosted trees over the features of candidates.

    One thread: the sums of several would depend on their number.
    """

    def __init__(self, model: HistGradientBoostingClassifier) -> None:
        self._model = model

    @classmethod
    def fit(cls, asked: Sequence[SurfaceQuestion], answers: Sequence[int]) -> LearnedRule | None:
        """Fit the rule to answers.

        Args:
            asked: The questions.
            answers: Index of each answer among the candidates; ``UNDEFINED`` ones are left out.

        Returns:
            None where there is too little to fit, or nothing to choose.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        known = [(q, a) for q, a in zip(asked, answers, strict=True) if a != UNDEFINED]
        if len(known) < FEWEST or all(len(q.candidates) == 1 for q, _ in known):
            return None
        known = _thinned(known)
        rows = np.concatenate([question.rows for question, _ in known])
        chosen = np.concatenate([np.arange(len(q.candidates)) == answer for q, answer in known])
        model = HistGradientBoostingClassifier(
            max_iter=_ROUNDS,
            max_depth=_DEPTH,
            learning_rate=_RATE,
            min_samples_leaf=_LEAF,
            early_stopping=False,
            random_state=0,
        )
        with threadpool_limits(1):
            model.fit(rows, chosen)
        return cls(model)

    def answers(self, asked: Sequence[SurfaceQuestion]) -> list[int]:
        """The index of the most likely candidate of each question; ties go to the first."""
        from threadpoolctl import threadpool_limits

        with_rows = [question for question in asked if len(question.candidates)]
        if not with_rows:
            return [UNDEFINED] * len(asked)
        with threadpool_limits(1):
            likely = self._model.predict_proba(np.concatenate([q.rows for q in with_rows]))[:, 1]
        ends = np.cumsum([len(question.candidates) for question in with_rows])
        best = iter(int(part.argmax()) for part in np.split(likely, ends[:-1]))
        return [next(best) if len(question.candidates) else UNDEFINED for question in asked]


def _thinned(known: Sequence[tuple[SurfaceQuestion, int]]) -> list[tuple[SurfaceQuestion, int]]:
    """At most ``MOST_FITTED`` questions: those of every n-th story."""
    step = -(-len(known) // MOST_FITTED)
    numbers: dict[str, int] = {}
    return [each for each in known if numbers.setdefault(each[0].story, len(numbers)) % step == 0]


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """Out-of-fold predictions of a rule.

    Attributes:
        name: The rule; for lists, the best one on all stories.
        answers: Index of its answer among the candidates of each question.
    """

    name: str
    answers: tuple[int, ...]

    def texts(self, asked: Sequence[SurfaceQuestion]) -> list[str | None]:
        pairs = zip(asked, self.answers, strict=True)
        return [None if place == UNDEFINED else q.candidates[place] for q, place in pairs]


def folds_of(asked: Sequence[SurfaceQuestion]) -> np.ndarray:
    """The fold of each question: whole stories, by order of appearance."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(q.story, len(numbers)) % FOLDS for q in asked])


def cross_fitted(asked: Sequence[SurfaceQuestion], answers: Sequence[int]) -> CrossFitted | None:
    """Out-of-fold predictions of boosted trees; None where some fold has too little to fit."""
    folds = folds_of(asked)
    said = np.full(len(asked), UNDEFINED)
    for fold in range(FOLDS):
        inside = np.flatnonzero(folds != fold).tolist()
        outside = np.flatnonzero(folds == fold).tolist()
        rule = LearnedRule.fit([asked[i] for i in inside], [answers[i] for i in inside])
        if rule is None:
            return None
        said[outside] = rule.answers([asked[i] for i in outside])
    return CrossFitted(LEARNED, tuple(said.tolist()))


def cross_fitted_list(
    asked: Sequence[SurfaceQuestion], answers: Sequence[int]
) -> CrossFitted | None:
    """Out-of-fold predictions of the best list; None where there are too few questions."""
    if len(asked) < FEWEST:
        return None
    names, codes = _codes(asked)
    wanted = np.asarray(answers)
    folds = folds_of(asked)
    said = np.full(len(asked), UNDEFINED)
    for fold in range(FOLDS):
        first, then = _best_list(codes[folds != fold], wanted[folds != fold])
        tested = codes[folds == fold]
        said[folds == fold] = np.where(
            tested[:, first] == UNDEFINED, tested[:, then], tested[:, first]
        )
    first, then = _best_list(codes, wanted)
    name = names[first] if first == then else f"{names[first]}, else {names[then]}"
    return CrossFitted(name, tuple(said.tolist()))


def _codes(asked: Sequence[SurfaceQuestion]) -> tuple[list[str], np.ndarray]:
    """Names of all rules and cues, and the indices of their answers, one column each."""
    names = list(asked[0].picks)
    found = [[question.place_of(question.picks[name]) for name in names] for question in asked]
    return names, np.asarray(found)


def _best_list(codes: np.ndarray, wanted: np.ndarray) -> tuple[int, int]:
    """The two columns whose list agrees with most answers; twice the same if one does as well."""
    known = wanted != UNDEFINED
    agrees = (codes == wanted[:, None]) & known[:, None]
    defined = codes != UNDEFINED
    alone = agrees.sum(axis=0)
    # Agreement of "a, else b" is that of a, and that of b where a is undefined.
    both = alone[:, None] + (~defined).T.astype(int) @ agrees.astype(int)
    if both.max() == alone.max():
        return int(alone.argmax()), int(alone.argmax())
    first, then = np.unravel_index(int(both.argmax()), both.shape)
    return int(first), int(then)
