"""A learned rule: the best that a shallow model makes of surface features, and its name.

The features are those of :mod:`pipeline.rules.surface`, one row for each candidate answer. Boosted
trees of small depth (scikit-learn) say how likely each candidate is; the most likely one is the
rule's answer. Fitted to gold answers it is a baseline: what can be scored without following who
knows what. Fitted to a model's answers, it is what may explain them. What it says of a question is
always said by a fit to other stories.

A *list* is a learned rule that a person can read: one rule or cue, and another where that is
undefined ("first claim, else last").
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
"""What tables call a rule that is fitted to answers."""

FOLDS = 5
FEWEST = 50
"""Questions below which nothing is fitted."""

MOST_FITTED = 4000
"""Questions that a fit takes at most; of more, whole stories are left out evenly."""

_ROUNDS, _DEPTH, _RATE, _LEAF = 80, 4, 0.15, 10


class LearnedRule:
    """Boosted trees over the features of candidates.

    One thread: the sums of several would depend on their number.
    """

    def __init__(self, model: HistGradientBoostingClassifier) -> None:
        """Wrap a fitted model."""
        self._model = model

    @classmethod
    def fit(cls, asked: Sequence[SurfaceQuestion], answers: Sequence[int]) -> LearnedRule | None:
        """Fit the rule to answers.

        Args:
            asked: The questions.
            answers: The place of each answer among the candidates; ``UNDEFINED`` ones are left out.

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
        """The place of the most likely candidate of each question, of equals the first."""
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
    """Questions that can be fitted at once: of too many, those of every n-th story."""
    step = -(-len(known) // MOST_FITTED)
    numbers: dict[str, int] = {}
    return [each for each in known if numbers.setdefault(each[0].story, len(numbers)) % step == 0]


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """What is said of each question by a rule that was fitted to other stories.

    Attributes:
        name: The rule; of a list, the one that fits all stories best.
        answers: The place of its answer among the candidates of each question.
    """

    name: str
    answers: tuple[int, ...]

    def texts(self, asked: Sequence[SurfaceQuestion]) -> list[str | None]:
        """The answers themselves; None where there is none."""
        pairs = zip(asked, self.answers, strict=True)
        return [None if place == UNDEFINED else q.candidates[place] for q, place in pairs]


def folds_of(asked: Sequence[SurfaceQuestion]) -> np.ndarray:
    """The fold of each question: whole stories, by the order in which they first come."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(q.story, len(numbers)) % FOLDS for q in asked])


def cross_fitted(asked: Sequence[SurfaceQuestion], answers: Sequence[int]) -> CrossFitted | None:
    """What boosted trees say of each question that were fitted to other stories' answers.

    Returns:
        None where some fold has too little to fit.
    """
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
    """What the best list says of each question, chosen by other stories' answers.

    Returns:
        None where there are too few questions.
    """
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
    """The names of all rules and cues, and the places of their answers, a column each."""
    names = list(asked[0].picks)
    found = [[question.place_of(question.picks[name]) for name in names] for question in asked]
    return names, np.asarray(found)


def _best_list(codes: np.ndarray, wanted: np.ndarray) -> tuple[int, int]:
    """The two columns that together agree with most answers; one where it does as well."""
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
