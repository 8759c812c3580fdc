"""The evidence of a verdict on answers: beside each follower, by belief order, on pairs."""

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
"""Share of counterfactual pairs both of which learned rules may answer right on sets that are
chosen against them: whoever surely does no better shows no beliefs."""

GAIN = 0.03
"""How many more answers a rule must explain than a simpler one to be named instead."""


@dataclass(frozen=True, slots=True)
class AgainstRule:
    """The answers beside one rule or simpler mind.

    Attributes:
        rule: Its name.
        kind: What it is.
        accuracy: Share of the questions that it answers right.
        agreement: Share of the answers that are its own.
        where_right: Accuracy of the answers where it is right.
        where_wrong: Accuracy where it is wrong.
        copied: Share of answers that are its own where it is wrong.
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
        """Whether there are enough questions on which the rule is wrong."""
        found = self.where_wrong
        return found.count >= FEWEST_ITEMS and found.clusters >= FEWEST_STORIES

    @property
    def follows_beliefs(self) -> bool:
        """Whether the answers follow beliefs rather than this rule."""
        return self.where_wrong.value > MAJORITY and self.preference.low > 0

    @property
    def follows_rule(self) -> bool:
        """Whether they follow this rule rather than beliefs."""
        return self.copied.low > MAJORITY and self.preference.high < 0


@dataclass(frozen=True, slots=True)
class OrderEvidence:
    """The answers to the questions of one belief order.

    Attributes:
        order: The order; None where the notion does not apply.
        accuracy: Of all answers.
        rules: Beside each rule and lesser mind, the most accurate first.
        profile: The faculties that its questions ask for.
    """

    order: int | None
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]
    profile: tuple[Faculty, ...] = ()

    @property
    def deciding(self) -> list[AgainstRule]:
        """The rules that are wrong often enough."""
        return [each for each in self.rules if each.decides]

    @property
    def best(self) -> AgainstRule | None:
        """The most accurate rule; a mind may be right on all of what takes no more."""
        return next((each for each in self.rules if not each.kind.is_mind), None)

    @property
    def copied(self) -> AgainstRule | None:
        """The rule or mind that answers follow rather than beliefs, the simplest of several."""
        return simplest([each for each in self.deciding if each.follows_rule])

    @property
    def follows_beliefs(self) -> bool:
        """Whether most answers are right, and more so than like any rule or lesser mind."""
        right = self.accuracy.low > MAJORITY
        return right and all(each.follows_beliefs for each in self.deciding)


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """The answers to counterfactual pairs; pairs of the same two stories go together.

    Attributes:
        accuracy: Share of pairs both of which are answered right.
        sensitivity: Share of pairs with two gold answers to which two answers were given.
        by_rules: Share of pairs both of which the best rule answers right.
    """

    accuracy: Estimate
    sensitivity: Estimate
    by_rules: float

    @property
    def enough(self) -> bool:
        """Whether there are enough pairs to decide."""
        return self.accuracy.count >= FEWEST_ITEMS

    @property
    def surely_fails(self) -> bool:
        """Whether pairs surely show no beliefs: no more are right than rules get right on hard
        sets, or the answer surely does not move with the belief."""
        still = self.sensitivity.count >= FEWEST_ITEMS and self.sensitivity.high <= MAJORITY
        return self.enough and (self.accuracy.high <= BY_RULES or still)


def orders_of(
    items: Sequence[Item], followers: Sequence[Follower], questions: Questions
) -> list[OrderEvidence]:
    """The evidence of each belief order; of the world, where truth is the answer, none."""
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
    """The answers at some places beside every follower."""
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
    """The answers to counterfactual pairs; None where there are none."""
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
    """What explains most answers, the simplest of those that explain nearly as many."""
    chosen: AgainstRule | None = None
    for each in sorted(rules, key=lambda r: (r.kind.tier, -r.agreement, r.kind)):
        gain = 0.0 if chosen is None or chosen.kind.tier == each.kind.tier else GAIN
        if chosen is None or each.agreement > chosen.agreement + gain:
            chosen = each
    return chosen


def in_percent(found: Estimate) -> str:
    """A share with its interval, in words."""
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
