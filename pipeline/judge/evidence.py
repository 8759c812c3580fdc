"""The evidence of a verdict on answers: by follower, belief order and pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.evaluate.measured import ClusteredValues, both_right, moved
from pipeline.evaluate.statistics import Estimate, change, share
from pipeline.judge.followers import Follower, Kind, Questions
from pipeline.judge.items import Item
from pipeline.judge.profile import FEWEST as FEWEST_ITEMS
from pipeline.judge.profile import FEWEST_STORIES, MAJORITY, Faculty, profile_of

BY_RULES = 0.25
"""Share of counterfactual pairs that learned rules may solve on sets filtered against them; answers
no better than that show no beliefs.
"""

GAIN = 0.03
"""Advantage by which a rule must beat a simpler one to be named instead."""


@dataclass(frozen=True, slots=True)
class AgainstRule:
    """Answers compared with one rule or simpler mind.

    Attributes:
        agreement: Share of answers equal to the rule's.
        where_right: Accuracy of the answers where it is right.
        where_wrong: Accuracy of the answers where it is wrong.
        copied: Agreement where it is wrong.
        preference: ``where_wrong`` less ``copied``.
    """

    rule: str
    kind: Kind
    accuracy: float
    agreement: float
    where_right: Estimate
    where_wrong: Estimate
    copied: Estimate
    preference: Estimate

    @property
    def decides(self) -> bool:
        """There are enough questions on which the rule is wrong."""
        found = self.where_wrong
        return found.count >= FEWEST_ITEMS and found.clusters >= FEWEST_STORIES

    @property
    def follows_beliefs(self) -> bool:
        return self.where_wrong.value > MAJORITY and self.preference.low > 0

    @property
    def follows_rule(self) -> bool:
        return self.copied.low > MAJORITY and self.preference.high < 0


@dataclass(frozen=True, slots=True)
class OrderEvidence:
    """The answers to the questions of one belief order.

    Attributes:
        order: None where the notion does not apply.
        rules: Comparisons, the most accurate rule first.
    """

    order: int | None
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]
    profile: tuple[Faculty, ...] = ()

    @property
    def deciding(self) -> list[AgainstRule]:
        return [each for each in self.rules if each.decides]

    @property
    def best(self) -> AgainstRule | None:
        """The most accurate rule; minds are right wherever their deficit does not matter."""
        return next((each for each in self.rules if not each.kind.is_mind), None)

    @property
    def copied(self) -> AgainstRule | None:
        """The simplest rule or mind that answers follow rather than beliefs."""
        return simplest([each for each in self.deciding if each.follows_rule])

    @property
    def follows_beliefs(self) -> bool:
        """Most answers are right, and every rule or lesser mind explains fewer."""
        right = self.accuracy.low > MAJORITY
        return right and all(each.follows_beliefs for each in self.deciding)


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """The answers to counterfactual pairs, clustered by stories.

    Attributes:
        accuracy: Share of pairs with both right.
        sensitivity: Share of pairs with two gold answers that got two answers.
        by_rules: Share of pairs that the best rule solves.
    """

    accuracy: Estimate
    sensitivity: Estimate
    by_rules: float

    @property
    def enough(self) -> bool:
        return self.accuracy.count >= FEWEST_ITEMS

    @property
    def surely_fails(self) -> bool:
        """Pairs show no beliefs: no more are solved than by rules on hard sets, or answers surely
        do not move with the belief.
        """
        still = self.sensitivity.count >= FEWEST_ITEMS and self.sensitivity.high <= MAJORITY
        return self.enough and (self.accuracy.high <= BY_RULES or still)


def orders_of(
    items: Sequence[Item], followers: Sequence[Follower], questions: Questions
) -> list[OrderEvidence]:
    """The evidence of each belief order above the world's, where truth is the answer."""
    places: dict[int | None, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item.example.order, []).append(place)
    asked = sorted((order for order in places if order is not None and order > 0), key=int)
    return [order_of(items, followers, questions, order, places[order]) for order in asked]


def order_of(
    items: Sequence[Item],
    followers: Sequence[Follower],
    questions: Questions,
    order: int | None,
    places: Sequence[int],
) -> OrderEvidence:
    found = [_against(items, follower, places) for follower in followers]
    rules = tuple(sorted(found, key=lambda each: -each.accuracy))
    accuracy = _share(items, [item.right for item in items], places)
    return OrderEvidence(order, accuracy, rules, profile_of(items, questions, order))


def _against(items: Sequence[Item], follower: Follower, places: Sequence[int]) -> AgainstRule:
    wrong = follower.wrong(places)
    right = [place for place in places if follower.right[place]]
    correct = [item.right for item in items]
    clusters = [items[place].example.story_id for place in wrong]
    gold = [float(correct[place]) for place in wrong]
    copied = [float(follower.copied[place]) for place in wrong]
    return AgainstRule(
        rule=follower.name,
        kind=follower.kind,
        accuracy=len(right) / max(1, len(places)),
        agreement=sum(follower.copied[place] for place in places) / max(1, len(places)),
        where_right=_share(items, correct, right),
        where_wrong=_share(items, correct, wrong),
        copied=_share(items, follower.copied, wrong),
        preference=change(copied, gold, clusters),
    )


def _share(items: Sequence[Item], values: Sequence[bool], places: Sequence[int]) -> Estimate:
    stories = [items[place].example.story_id for place in places]
    return share([values[place] for place in places], stories)


def pairs_among(items: Sequence[Item], followers: Sequence[Follower]) -> PairEvidence | None:
    """The answers to counterfactual pairs, if any."""
    examples = [item.example for item in items]
    right = both_right(examples, [item.right for item in items])
    if not right.values:
        return None
    changed = moved(examples, [item.extracted for item in items])
    rules = [
        both_right(examples, each.right).values.values()
        for each in followers
        if not each.kind.is_mind
    ]
    best = max((sum(both) / len(both) for both in rules), default=0.0)
    return PairEvidence(_share_of(right), _share_of(changed), best)


def _share_of(found: ClusteredValues) -> Estimate:
    return share([bool(value) for value in found.values.values()], list(found.stories.values()))


def simplest(rules: Sequence[AgainstRule]) -> AgainstRule | None:
    """The best-fitting follower; within ``GAIN``, the simplest."""
    chosen: AgainstRule | None = None
    for each in sorted(rules, key=lambda r: (r.kind.tier, -r.agreement, r.kind)):
        gain = 0.0 if chosen is None or chosen.kind.tier == each.kind.tier else GAIN
        if chosen is None or each.agreement > chosen.agreement + gain:
            chosen = each
    return chosen


def in_percent(found: Estimate) -> str:
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
