"""The first axis of the verdict: do the answers follow beliefs, a simpler mind, or a rule?

Where a rule is right, an answer that follows beliefs looks like one that follows the rule. So what
counts are the questions on which a rule is wrong: there the answer is the gold one, the rule's, or
another. The rules are the listed ones, those that a learner finds in the answers themselves, and
the engine's simpler minds. Counterfactual pairs say the same of two stories that differ in one
event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.evaluate.measured import ClusteredValues, both_right, moved, story_of
from pipeline.evaluate.statistics import Estimate, change, share
from pipeline.formats.plural import counted
from pipeline.judge.followers import Follower, Kind, Questions, followers_of
from pipeline.judge.found import Found, Test, least
from pipeline.judge.items import Item
from pipeline.tasks.example import Example, pairs_of

Follow = Literal["beliefs", "simpler mind", "rule", "neither", "undecided"]

FEWEST_ITEMS = 30
"""Questions on which a rule is wrong, and counterfactual pairs, below which nothing is decided."""

MOST_ITEMS = 20_000
"""Answers that are held against rules; intervals of shares are then at most a point wide."""

FEWEST_STORIES = 10
"""Stories that these must be about."""

MAJORITY = 0.5
"""Share of the answers that must follow beliefs, or a rule: the lower end of the interval."""

LARGEST_DROP = 0.25
"""From where a rule is right to where it is wrong: the most that accuracy that follows beliefs may
fall, as far as the lower end of the interval tells."""

BY_RULES = 0.25
"""Share of counterfactual pairs both of which must be right more often, by the lower end: as many
as learned rules may reach on pairs that are chosen against them."""

GAIN = 0.03
"""How many more answers a learned rule must explain than a simpler one to be named instead."""


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
        drop = self.where_right.low - self.where_wrong.high
        enough = self.where_wrong.low > MAJORITY and self.preference.low > 0
        return enough and drop <= LARGEST_DROP

    @property
    def follows_rule(self) -> bool:
        """Whether they follow this rule rather than beliefs."""
        return self.copied.low > MAJORITY and self.preference.high < 0

    @property
    def follows_neither(self) -> bool:
        """Whether most answers follow neither."""
        return self.where_wrong.high < MAJORITY and self.copied.high < MAJORITY


@dataclass(frozen=True, slots=True)
class OrderEvidence:
    """The answers to the questions of one belief order.

    Attributes:
        order: The order; None where the notion does not apply.
        accuracy: Of all answers.
        rules: Beside each rule and simpler mind, the most accurate first.
    """

    order: int | None
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]

    @property
    def deciding(self) -> list[AgainstRule]:
        """The rules that are wrong often enough."""
        return [each for each in self.rules if each.decides]

    @property
    def best(self) -> AgainstRule | None:
        """The most accurate rule; a mind may be right on all of what takes no more."""
        return next((each for each in self.rules if each.kind is not Kind.MIND), None)

    @property
    def enough(self) -> bool:
        """Whether the most accurate rule is wrong often enough to decide."""
        return self.best is not None and self.best.decides

    @property
    def follows_beliefs(self) -> bool:
        """Whether the answers follow beliefs rather than any rule."""
        return self.enough and all(each.follows_beliefs for each in self.deciding)


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
    def least(self) -> float:
        """The share of pairs that must be exceeded."""
        return max(BY_RULES, self.by_rules)


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """What the answers follow.

    Attributes:
        follow: ``beliefs``, ``simpler mind``, ``rule``, ``neither`` or ``undecided``.
        by: The mind or rule that they follow; else None.
        because: The reason in a sentence.
        explained: Share of the answers that the best rule or mind predicts, learned ones on stories
            to which they were not fitted.
        best: That rule or mind; None where there is none.
        found: What could have been found.
        accuracy: Of the answers that are held against rules.
        rules: The evidence, the most accurate rule first.
        orders: The same by belief order, lowest first.
        pairs: Where there are any.
    """

    follow: Follow
    by: str | None
    because: str
    explained: float
    best: str | None
    found: Found
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]
    orders: tuple[OrderEvidence, ...]
    pairs: PairEvidence | None


def followed(follow: str, by: str | None) -> str:
    """What answers follow in words: "rule (earliest exit)", "simpler mind (sight alone)"."""
    return f"{follow} ({by})" if by else follow


def said_to_follow(follow: str, by: str | None) -> str:
    """What answers follow as the beginning of a sentence."""
    if follow == "undecided":
        return "what answers follow is undecided"
    if follow == "neither":
        return "answers follow neither beliefs nor a rule"
    if follow == "simpler mind":
        return f"answers follow a simpler mind, {by!r}"
    return f"answers follow the rule {by!r}" if by else f"answers follow {follow}"


def judge_answers(items: Sequence[Item], questions: Questions | None = None) -> AnswerVerdict:
    """What answers follow, with the evidence.

    Args:
        items: The questions with what was answered.
        questions: What rules and minds say to these questions, where it is known already; else
            of more than ``MOST_ITEMS`` answers those of every n-th story are judged.
    """
    if questions is None:
        items = [items[place] for place in held_against_rules([each.example for each in items])]
        questions = Questions.of([item.example for item in items])
    followers = followers_of(items, questions)
    everything = _order(items, followers, None, range(len(items)))
    orders = tuple(_orders(items, followers))
    pairs = _pairs(items, followers)
    follow, by, because = _decide(everything, orders, pairs)
    best = _simplest(everything.rules)
    named = next((each for each in everything.rules if each.rule == by), best)
    return AnswerVerdict(
        follow=follow,
        by=by,
        because=because,
        explained=named.agreement if named else 0.0,
        best=named.rule if named else None,
        found=_found(everything, orders, pairs),
        accuracy=everything.accuracy,
        rules=everything.rules,
        orders=orders,
        pairs=pairs,
    )


def held_against_rules(examples: Sequence[Example]) -> Sequence[int]:
    """The places of the questions whose answers are held against rules."""
    step = -(-len(examples) // MOST_ITEMS)
    if step < 2:
        return range(len(examples))
    numbers: dict[str, int] = {}
    stories = enumerate(_stories(examples))
    return [p for p, story in stories if numbers.setdefault(story, len(numbers)) % step == 0]


def _stories(examples: Sequence[Example]) -> list[str]:
    """The story of each question, one for both members of a counterfactual pair."""
    found = [example.story_id for example in examples]
    for one, other in pairs_of(examples).values():
        found[one] = found[other] = story_of(examples[one], examples[other])
    return found


# --- the decision -------------------------------------------------------------------------------


def _decide(
    everything: OrderEvidence, orders: Sequence[OrderEvidence], pairs: PairEvidence | None
) -> tuple[Follow, str | None, str]:
    copied = _simplest([each for each in everything.deciding if each.follows_rule])
    if copied is not None:
        because = (
            f"where the {_called(copied)} is wrong, {in_percent(copied.copied)} of the answers are "
            f"its own and {in_percent(copied.where_wrong)} are right"
        )
        if (order := _order_by_belief(orders, copied)) is not None:
            return "undecided", None, f"{because}; yet in order {order} more are right there"
        return ("simpler mind" if copied.kind is Kind.MIND else "rule"), copied.rule, because
    best = everything.best
    if best is None or not best.decides:
        return "undecided", None, _too_few(best)
    because = (
        f"where the {_called(best)} is wrong, {in_percent(best.where_wrong)} of the answers are "
        f"right and {in_percent(best.copied)} are its own; where it is right, "
        f"{in_percent(best.where_right)} are"
    )
    if all(each.follows_neither for each in everything.deciding):
        return "neither", None, because
    if not everything.follows_beliefs:
        return "undecided", None, because
    if against := [*_against_orders(orders), *_against_pairs(pairs)]:
        return "undecided", None, f"{because}; yet {' and '.join(against)}"
    return "beliefs", None, because


def _too_few(best: AgainstRule | None) -> str:
    """Why the best rule decides nothing."""
    if best is None:
        return "no rule answers most of the questions"
    wrong = best.where_wrong
    stories = "1 story" if wrong.clusters == 1 else f"{wrong.clusters} stories"
    return (
        f"{best.rule!r}, the best rule, is wrong on {counted(wrong.count, 'question')} about "
        f"{stories}; it takes {FEWEST_ITEMS} about {FEWEST_STORIES}"
    )


def _simplest(rules: Sequence[AgainstRule]) -> AgainstRule | None:
    """What explains most answers, the simplest of those that explain nearly as many."""
    chosen: AgainstRule | None = None
    tiers = sorted(rules, key=lambda r: (max(r.kind, Kind.LISTED), -r.agreement, r.kind))
    for each in tiers:
        gain = 0.0 if chosen is None or _as_simple(each, chosen) else GAIN
        if chosen is None or each.agreement > chosen.agreement + gain:
            chosen = each
    return chosen


def _order_by_belief(orders: Sequence[OrderEvidence], copied: AgainstRule) -> int | None:
    """An order in which, where the copied rule is wrong, more answers are right than its."""
    for each in orders:
        for rule in each.rules:
            few = rule.where_wrong.count < FEWEST_STORIES
            if rule.rule == copied.rule and not few and rule.preference.low > 0:
                return each.order
    return None


def _as_simple(one: AgainstRule, other: AgainstRule) -> bool:
    return max(one.kind, Kind.LISTED) == max(other.kind, Kind.LISTED)


def _called(rule: AgainstRule) -> str:
    return f"{'mind' if rule.kind is Kind.MIND else 'rule'} {rule.rule!r}"


def _against_orders(orders: Sequence[OrderEvidence]) -> list[str]:
    """What single belief orders say against beliefs."""
    failed = [each for each in orders if not each.follows_beliefs]
    return [
        f"of order {each.order} {in_percent(each.accuracy)} are right"
        + ("" if each.enough else f", on too few questions ({each.accuracy.count})")
        for each in failed
    ]


def _against_pairs(pairs: PairEvidence | None) -> list[str]:
    """What counterfactual pairs say against beliefs."""
    if pairs is None or not pairs.enough:
        count = 0 if pairs is None else pairs.accuracy.count
        return [f"there are {count} counterfactual pairs; it takes {FEWEST_ITEMS}"]
    said = []
    if pairs.accuracy.low <= pairs.least:
        said.append(
            f"both of a counterfactual pair are right in {in_percent(pairs.accuracy)}, where rules "
            f"reach {pairs.least:.0%}"
        )
    if pairs.sensitivity.count >= FEWEST_ITEMS and pairs.sensitivity.low <= MAJORITY:
        said.append(
            "two answers are given to counterfactual pairs with two in "
            f"{in_percent(pairs.sensitivity)}"
        )
    return said


def in_percent(found: Estimate) -> str:
    """A share with its interval, in words."""
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


# --- the evidence -------------------------------------------------------------------------------


def _orders(items: Sequence[Item], followers: Sequence[Follower]) -> list[OrderEvidence]:
    """The evidence of each belief order; of the world, where truth is the answer, none."""
    places: dict[int | None, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item.example.order, []).append(place)
    asked = sorted((order for order in places if order is not None and order > 0), key=int)
    return [_order(items, followers, order, places[order]) for order in asked]


def _order(
    items: Sequence[Item], followers: Sequence[Follower], order: int | None, places: Sequence[int]
) -> OrderEvidence:
    found = [_against(items, follower, places) for follower in followers]
    rules = tuple(sorted(found, key=lambda each: -each.accuracy))
    return OrderEvidence(order, _share(items, [item.right for item in items], places), rules)


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


def _pairs(items: Sequence[Item], followers: Sequence[Follower]) -> PairEvidence | None:
    examples = [item.example for item in items]
    right = both_right(examples, [item.right for item in items])
    if not right.values:
        return None
    changed = moved(examples, [item.extracted for item in items])
    rules = [
        both_right(examples, each.right).values.values()
        for each in followers
        if each.kind is not Kind.MIND
    ]
    best = max((sum(both) / len(both) for both in rules), default=0.0)
    return PairEvidence(_share_of(right), _share_of(changed), best)


def _share_of(found: ClusteredValues) -> Estimate:
    return share([bool(value) for value in found.values.values()], list(found.stories.values()))


def _found(
    everything: OrderEvidence, orders: Sequence[OrderEvidence], pairs: PairEvidence | None
) -> Found:
    """What could have been found on these questions."""
    wrong = [each.where_wrong.count for each in everything.deciding]
    rule = least([Test(min(wrong), MAJORITY)]) if wrong else None
    parts = [everything, *orders]
    if pairs is None or not pairs.enough or not orders or not all(each.enough for each in parts):
        return Found(None, rule)
    tests = [
        Test(min(rule.where_wrong.count for rule in each.deciding), MAJORITY) for each in orders
    ]
    both = Test(pairs.accuracy.count, pairs.least, lambda accuracy: accuracy**2)
    return Found(least([*tests, both]), rule)
