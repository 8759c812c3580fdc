"""Signatures of training failures, with effect size and interval.

A signature is present if its interval lies wholly beyond the threshold. docs/verdict.md has the
sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from pipeline.evaluate.statistics import LEVEL, Estimate, change, rounded, share
from pipeline.judge.items import Item

SHORTER = 0.5
"""Response collapse: ratio of median numbers of words."""

COPIED = 0.5
"""Copied template: share of responses with identical reasoning."""

FOREIGN = 0.05
"""Language drift: share of responses with letters of another script."""

FLAT = 0.05
"""Flat outside: maximum change on tasks that were not trained, either way."""

LOST_DIVERSITY = 0.5
"""Diversity and entropy collapse: ratio of distinct responses, or of entropy."""

_ANSWER = re.compile(r"<answer>.{0,2000}?(?:</answer>|$)|\"answer\"\s*:[^\n}]{0,2000}", re.DOTALL)
_TAG = re.compile(r"</?think>")
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-zA-Z\u00aa-\u024f\u0370-\u03ff\u1e00-\u1eff]")
_DRAWS = 1000
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: effect with the ends of its 95 % interval, described by ``what``."""

    name: str
    present: bool
    value: float
    low: float
    high: float
    what: str

    @classmethod
    def of(cls, name: str, present: bool, found: Estimate, what: str) -> Signature:
        return cls(name, present, found.value, found.low, found.high, what)

    def as_json(self) -> dict[str, Any]:
        return rounded(self)


@dataclass(frozen=True, slots=True)
class Reason:
    """Features of a response's reasoning, without its text.

    Attributes:
        digest: Of all of it.
        foreign: The response has letters of another script.
    """

    begins: str
    digest: bytes
    words: int
    foreign: bool

    @classmethod
    def of(cls, response: str) -> Reason:
        text = reasoning_of(response)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        foreign = bool(_OTHER_SCRIPT.search(response))
        return cls(text[:_SHOWN], digest, len(text.split()), foreign)


def single_signatures(
    items: Sequence[Item], reasons: Sequence[Reason] | None = None
) -> list[Signature]:
    """The signatures of one set of responses; ``reasons`` are computed unless given."""
    if not items:
        return []
    each = [Reason.of(item.response) for item in items] if reasons is None else reasons
    stories = [item.example.story_id for item in items]
    orders = [item.example.order for item in items]
    found = [
        inverted_difficulty([item.right for item in items], orders, stories),
        copied_template(each, stories),
        language_drift(each, stories),
    ]
    return [signature for signature in found if signature is not None]


def reasoning_of(response: str) -> str:
    """A response without its answer and tags, spaces collapsed."""
    return " ".join(_TAG.sub(" ", _ANSWER.sub(" ", response)).split())


def response_collapse(before: Sequence[Reason], after: Sequence[Reason]) -> Signature:
    """Responses have lost most of their reasoning: ratio of median words."""
    first, then = ([reason.words for reason in reasons] for reasons in (before, after))
    what = "median words of reasoning"
    return _fallen("response collapse", what, SHORTER, first, then, np.median, digits=0)


def copied_template(reasons: Sequence[Reason], clusters: Sequence[Hashable]) -> Signature:
    common, _ = Counter(reason.digest for reason in reasons).most_common(1)[0]
    begins = next(reason.begins for reason in reasons if reason.digest == common)
    found = share([bool(begins) and reason.digest == common for reason in reasons], clusters)
    what = f"share of responses whose reasoning is {begins!r}"
    return Signature.of("copied template", found.low > COPIED, found, what)


def language_drift(reasons: Sequence[Reason], clusters: Sequence[Hashable]) -> Signature:
    found = share([reason.foreign for reason in reasons], clusters)
    what = "share of responses with letters of another script"
    return Signature.of("language drift", found.low > FOREIGN, found, what)


def inverted_difficulty(
    right: Sequence[bool], orders: Sequence[int | None], clusters: Sequence[Hashable]
) -> Signature | None:
    """The highest belief orders are easier than the lowest, within one benchmark.

    The upper half of the orders above 0 against the lower half, by story; None for fewer than two.
    """
    known = sorted({order for order in orders if order is not None and order > 0})
    if len(known) < 2:
        return None
    lower, upper = known[: len(known) // 2], known[-(len(known) // 2) :]
    by_story: dict[Hashable, tuple[list[float], list[float]]] = {}
    for is_right, order, story in zip(right, orders, clusters, strict=True):
        sides = by_story.setdefault(story, ([], []))
        if order in lower:
            sides[0].append(is_right)
        elif order in upper:
            sides[1].append(is_right)
    both = [
        (float(np.mean(low)), float(np.mean(up))) for low, up in by_story.values() if low and up
    ]
    if len(both) < 2:
        return None
    found = change([a for a, _ in both], [b for _, b in both], range(len(both)))
    what = f"accuracy of orders {_listed(upper)} less that of orders {_listed(lower)}"
    return Signature.of("inverted difficulty", found.low > 0, found, what)


def _listed(orders: Sequence[int]) -> str:
    return ", ".join(map(str, orders))


def fall(name: str, found: Estimate, what: str) -> Signature:
    """A drop: negative transfer (untrained tasks), forgetting (the side-check)."""
    return Signature.of(name, found.high < 0, found, what)


def flat_outside(inside: Estimate, outside: Estimate) -> Signature:
    """Trained tasks improve, others stay."""
    flat = outside.low > -FLAT and outside.high < FLAT
    return Signature(
        "in-distribution up, out-of-distribution flat",
        inside.low > 0 and flat,
        inside.value - outside.value,
        inside.low - outside.high,
        inside.high - outside.low,
        f"change where trained {inside.value:+.1%}, elsewhere {outside.value:+.1%}; difference",
    )


def format_collapse(binary: Estimate, listed: Estimate) -> Signature:
    """Knowledge asked as yes or no improves, and asked as a list does not."""
    value, low = binary.value - listed.value, binary.low - listed.high
    return Signature(
        "format collapse",
        binary.low > 0 and low > 0 and listed.low <= 0,
        value,
        low,
        binary.high - listed.low,
        f"change of yes/no {binary.value:+.1%}, of lists {listed.value:+.1%}; difference",
    )


def narrowed(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[Hashable]
) -> Signature:
    """Answers found sometimes are found more often, and no more questions are solved.

    Source: Yue et al. 2025 (arXiv 2504.13837), who find pass@k of models after reinforcement
    learning at or below that of their base models.

    Args:
        before: Share of right samples per question, of the base model.
        after: The same after training.
    """
    first, then = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    average = change(before, after, clusters)
    solved = change((first > 0).tolist(), (then > 0).tolist(), clusters)
    gap = change((first - (first > 0)).tolist(), (then - (then > 0)).tolist(), clusters)
    return Signature.of(
        "mean@k up, pass@k flat",
        average.low > 0 and gap.low > 0 and solved.low <= 0,
        gap,
        f"change of mean@k {average.value:+.1%}, of pass@k {solved.value:+.1%}; difference",
    )


def checkpoint_noise(accuracies: Sequence[float], count: int) -> Signature | None:
    """Neighbouring checkpoints differ by more than the sampling of questions explains.

    The last checkpoints against their mean, by the chi-square test of equal proportions;
    conservative, as the questions are the same. None for fewer than three checkpoints.
    """
    if len(accuracies) < 3:
        return None
    middle = float(np.mean(accuracies))
    spread = float(max(accuracies) - min(accuracies))
    variance = middle * (1 - middle) / count
    if variance == 0:
        return Signature("checkpoint noise", False, spread, spread, spread, _CHECKPOINTS)
    freedom = len(accuracies) - 1
    statistic = sum((a - middle) ** 2 for a in accuracies) / variance
    present = bool(special.chdtrc(freedom, statistic) < 1 - LEVEL)
    reach = float(special.ndtri((1 + LEVEL) / 2)) * (2 * variance) ** 0.5
    return Signature(
        "checkpoint noise", present, spread, max(0.0, spread - reach), spread + reach, _CHECKPOINTS
    )


_CHECKPOINTS = "best less worst accuracy of the last checkpoints"


def diversity_collapse(first: Sequence[float], last: Sequence[float]) -> Signature:
    """Rollouts of a group become alike: shares of distinct ones, early and late."""
    return _fallen("diversity collapse", "share of distinct rollouts", LOST_DIVERSITY, first, last)


def entropy_collapse(first: Sequence[float], last: Sequence[float]) -> Signature:
    """The policy loses most of its entropy: means per token, early and late."""
    return _fallen("entropy collapse", "entropy per token", LOST_DIVERSITY, first, last)


def shrunk_responses(before: Sequence[float], after: Sequence[float], found: Estimate) -> Signature:
    """Responses have lost most of their tokens: ratio of means, by story."""
    what = f"mean tokens of responses {np.mean(before):.0f} -> {np.mean(after):.0f}; ratio"
    return Signature.of("response collapse", found.high < SHORTER, found, what)


def _fallen(
    name: str,
    what: str,
    below: float,
    first: Sequence[float],
    then: Sequence[float],
    middle: Callable[..., Any] = np.mean,
    digits: int = 2,
) -> Signature:
    """A mean, or median, has fallen below a share of its former value, by independent samples."""
    random = np.random.default_rng(0)
    before, after = np.asarray(first, dtype=float), np.asarray(then, dtype=float)
    sizes = [len(after), len(before)]
    places = random.integers(0, np.repeat(sizes, sizes), (_DRAWS, sum(sizes)))
    ends, begins = after[places[:, : len(after)]], before[places[:, len(after) :]]
    drawn = list(map(_ratio, middle(ends, axis=1), middle(begins, axis=1)))
    low, high = map(float, np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    start, end = float(middle(before)), float(middle(after))
    what = f"{what} {start:.{digits}f} -> {end:.{digits}f}; ratio"
    return Signature(name, high < below, _ratio(end, start), low, high, what)


def _ratio(after: float, before: float) -> float:
    return after / before if before else 1.0
