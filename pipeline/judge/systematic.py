"""Systematic errors: memorised structures, or mixtures of beliefs and something else.

If answers follow beliefs but for slips, neither the positions nor the contents of errors can be
predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from pipeline.evaluate.statistics import LEVEL, Estimate, change
from pipeline.judge.followers import Follower, Kind, Questions, answered_places
from pipeline.judge.items import Item
from pipeline.rules.learned import FOLDS, folds_of
from pipeline.rules.surface import UNDEFINED
from pipeline.rules.wording import Wording, counted, cross_fitted_wording

FEWEST = 30
"""Minimum number of questions, or pairs of questions about one structure, for a test."""

MIXED = 0.15
"""Minimum share of a second part, beyond chance (lower end)."""

TELLS_ERRORS = 0.7
"""Area under the ROC at which errors are predictable (lower end)."""

ALIKE = 0.15
"""Correlation within structures at which they count as memorised (lower end)."""

GUESSES = "guesses on some kinds of question"
"""The second part where wording predicts errors, and no rule their content."""

SEEN = 0.2
"""Maximum half-width of that correlation for a test; memorising half of the structures and guessing
among three places elsewhere gives 0.5.
"""

_DRAWS = 500
_FEWEST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Part:
    """The second part of a mixture with beliefs.

    Attributes:
        share: Share of its answers beyond chance where it is wrong; None if only positions of
            errors are predictable.
        explained: Share of answers equal to gold or its own.
    """

    by: str
    share: Estimate | None
    explained: float


@dataclass(frozen=True, slots=True)
class ByHeart:
    """Similarity of answers to questions about one structure.

    Attributes:
        alike: Correlation of correctness within these.
        low: Lower end of its 95 % interval, by permutation.
        guessed: Share of guesses, some of them right, that would explain the errors.
    """

    pairs: int
    alike: float
    low: float
    guessed: float

    def as_json(self) -> dict[str, float | int]:
        return {"pairs": self.pairs, "value": round(self.alike, 4), "low": round(self.low, 4)}

    @property
    def asked(self) -> bool:
        return self.pairs >= FEWEST and self.reach <= SEEN

    @property
    def reach(self) -> float:
        return self.alike - self.low

    @property
    def is_open(self) -> bool:
        """Many answers may be guesses, and memorisation cannot be tested."""
        return not self.asked and self.guessed > MIXED

    @property
    def is_so(self) -> bool:
        """Structures are memorised or not known, and enough are not."""
        return self.asked and self.low > ALIKE and self.guessed > MIXED


def second_part(
    items: Sequence[Item], questions: Questions, followers: Sequence[Follower]
) -> Part | None:
    """The rule or mind that answers follow where they do not follow beliefs, if any.

    Chance is estimated from answers that are neither right nor the follower's own, so questions
    with two candidates do not count.
    """
    best: Part | None = None
    right = np.asarray([item.right for item in items])
    for each in followers:
        if each.kind is Kind.LEARNED:
            continue
        found = _share_beyond_chance(items, questions, each)
        if found is None:
            continue
        explained = float((right | np.asarray(each.copied)).mean())
        if best is None or explained > best.explained:
            best = Part(each.name, found, explained)
    return best or _learned_errors(items, questions, followers)


def _share_beyond_chance(
    items: Sequence[Item], questions: Questions, follower: Follower
) -> Estimate | None:
    """The share of a follower's answers where it is wrong, beyond chance; None if there is none.

    Right answers must exceed chance there as well: else there are no beliefs in the mixture.
    """
    places = [
        n for n in follower.wrong(range(len(items))) if len(questions.asked[n].candidates) > 2
    ]
    stories = [items[n].example.story_id for n in places]
    if len(places) < FEWEST:
        return None
    own = [float(follower.copied[n]) for n in places]
    chance = [
        float(not (follower.copied[n] or items[n].right)) / (len(questions.asked[n].candidates) - 2)
        for n in places
    ]
    right = [float(items[n].right) for n in places]
    parts = [change(chance, part, stories) for part in (own, right)]
    return parts[0] if all(part.low > MIXED for part in parts) else None


def _learned_errors(
    items: Sequence[Item], questions: Questions, followers: Sequence[Follower]
) -> Part | None:
    """Contents or positions of errors, as far as wording predicts them."""
    asked = questions.asked
    wrong = [n for n, item in enumerate(items) if not item.right]
    if min(len(wrong), len(items) - len(wrong)) < _FEWEST_ERRORS:
        return None
    answered = answered_places(asked, items)
    gold = [_gold(questions, items, n) for n in range(len(items))]
    told = _what(items, questions, wrong, answered, gold)
    if told is None and _where_is_told(items, questions, gold):
        return _named(items, followers, wrong)
    return told


def _named(items: Sequence[Item], followers: Sequence[Follower], wrong: Sequence[int]) -> Part:
    """The rule or mind that gives half of the wrong answers, or their description."""
    right = sum(item.right for item in items)
    best, most = GUESSES, len(wrong) // 2
    for each in followers:
        own = sum(each.copied[n] for n in wrong)
        if each.kind is not Kind.LEARNED and own > most:
            best, most = each.name, own
    explained = right + (most if best != GUESSES else 0)
    return Part(best, None, explained / len(items))


def _gold(questions: Questions, items: Sequence[Item], place: int) -> int:
    return questions.asked[place].place_of(items[place].example.answer)


def _what(
    items: Sequence[Item],
    questions: Questions,
    wrong: Sequence[int],
    answered: Sequence[int],
    gold: Sequence[int],
) -> Part | None:
    """A model of wording, fitted to wrong answers, predicts others beyond chance."""
    several = [
        n
        for n in wrong
        if answered[n] != UNDEFINED
        and gold[n] != UNDEFINED
        and len(questions.asked[n].candidates) > 2
    ]
    if len(several) < FEWEST:
        return None
    fitted = cross_fitted_wording(
        [questions.asked[n] for n in several],
        [questions.described[n] for n in several],
        [answered[n] for n in several],
        [gold[n] for n in several],
    )
    if fitted is None:
        return None
    told = dict(zip(several, fitted.answers, strict=True))
    own = [float(n in told and told[n] == answered[n]) for n in range(len(items))]
    chance = [
        1 / (len(questions.asked[n].candidates) - 1) if n in told else 0.0
        for n in range(len(items))
    ]
    found = change(chance, own, [item.example.story_id for item in items])
    if found.low <= MIXED:
        return None
    right = sum(item.right for item in items)
    return Part("a learned rule of wording", found, (right + sum(own)) / len(items))


def _where_is_told(items: Sequence[Item], questions: Questions, gold: Sequence[int]) -> bool:
    """Wording predicts the positions of errors."""
    usable = [n for n in range(len(items)) if gold[n] != UNDEFINED]
    # By structure: what is known of one by heart tells nothing of others.
    asked = [replace(questions.asked[n], story=questions.structures[n]) for n in usable]
    folds = folds_of(asked)
    wrong = np.asarray([not items[n].right for n in usable])
    if not usable:
        return False
    counts = counted([(*questions.described[n][gold[n]], *_apart(questions, n)) for n in usable])
    odds = np.zeros(len(usable))
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = Wording.fit(counts[inside], wrong[inside].tolist())
        if fitted is None or not len(outside):
            return False
        odds[outside] = fitted.likely(counts[outside])
    telling = _area_low(odds[wrong], odds[~wrong]) > TELLS_ERRORS
    return telling and _guessed(items, questions) > MIXED


def _apart(questions: Questions, place: int) -> list[str]:
    """The minds that differ from the whole engine on a question, and how many answers it allows."""
    believed, allowed = questions.believed[place], questions.asked[place].candidates
    return [
        *(f"apart: {m}" for m, said in questions.minds if len(m) == 1 and said[place] != believed),
        f"candidates: {len(allowed)}",
    ]


def _area_low(wrong: np.ndarray, right: np.ndarray) -> float:
    """Lower end of the area under the ROC (Hanley and McNeil 1982)."""
    area = float((np.sign(wrong[:, None] - right) + 1).mean()) / 2  # a tie is half
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (len(wrong) - 1) * (one - area**2)
    spread += (len(right) - 1) * (two - area**2)
    error: float = max(0.0, spread / (len(wrong) * len(right))) ** 0.5
    return area - float(special.ndtri((1 + LEVEL) / 2)) * error


def by_heart(items: Sequence[Item], questions: Questions) -> ByHeart:
    groups: dict[str, list[int]] = defaultdict(list)
    for place, structure in enumerate(questions.structures):
        groups[structure].append(place)
    several = [
        members
        for members in groups.values()
        if len({items[n].example.story_id for n in members}) > 1
    ]
    right = np.asarray([float(item.right) for item in items])
    pairs = sum(len(members) * (len(members) - 1) // 2 for members in several)
    places = np.asarray([n for members in several for n in members], dtype=int)
    guessed = _guessed(items, questions)
    if pairs < FEWEST or not 0 < right[places].mean() < 1:
        return ByHeart(pairs, 0.0, -1.0, guessed)
    sizes = np.asarray([len(members) for members in several])
    found = _alike(right[places], sizes)
    random = np.random.default_rng(0)
    drawn = [_alike(random.permutation(right[places]), sizes) for _ in range(_DRAWS)]
    low = found - float(np.quantile(drawn, (1 + LEVEL) / 2))
    return ByHeart(pairs, found, low, guessed)


def _guessed(items: Sequence[Item], questions: Questions) -> float:
    """The share of guesses that explains the number of wrong answers."""
    wrong = [not item.right for item in items]
    miss = [1 - 1 / max(2, len(asked.candidates)) for asked in questions.asked]
    return sum(wrong) / max(1e-9, sum(miss))


def _alike(right: np.ndarray, sizes: np.ndarray) -> float:
    """Correlation within consecutive groups, weighted by their sizes."""
    off = right - right.mean()
    ends = np.cumsum(sizes)
    sums = np.add.reduceat(off, ends - sizes)
    squares = np.add.reduceat(off**2, ends - sizes)
    within = (sums**2 - squares) / (sizes - 1)
    return float(within.sum() / (sizes.sum() * right.var()))
