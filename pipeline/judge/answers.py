"""The first axis of the verdict: do the answers follow beliefs, or a rule that learns nothing?

Where a rule is right, an answer that follows beliefs looks like one that follows the rule. So what
counts are the questions on which a rule is wrong: there the answer is the gold one, the rule's, or
another. Counterfactual pairs say the same of two stories that differ in one event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.evaluate.measured import Measured, both_right, moved
from pipeline.evaluate.statistics import Estimate, change, share
from pipeline.judge.items import Item, RuleEvidence, rule_evidence

BELIEFS, RULE, NEITHER, UNDECIDED = "beliefs", "rule", "neither", "undecided"

FEWEST_ITEMS = 30
"""Questions on which a rule is wrong, below which nothing is decided."""

FEWEST_STORIES = 10
"""Stories that these must be about."""

MAJORITY = 0.5
"""Share of the answers that must follow beliefs, or a rule: the lower end of the interval."""

LARGEST_DROP = 0.25
"""From where a rule is right to where it is wrong: the most that accuracy that follows beliefs may
fall, as far as the lower end of the interval tells."""


@dataclass(frozen=True, slots=True)
class AgainstRule:
    """The answers beside one rule.

    Attributes:
        rule: Its name.
        accuracy: Share of the questions that the rule answers right.
        agreement: Share of the answers that are the rule's.
        where_right: Accuracy of the answers where the rule is right.
        where_wrong: Accuracy where it is wrong.
        copied: Share of answers that are the rule's where it is wrong.
        preference: ``where_wrong`` less ``copied``.
    """

    rule: str
    accuracy: float
    agreement: float
    where_right: Estimate
    where_wrong: Estimate
    copied: Estimate
    preference: Estimate

    @property
    def decides(self) -> bool:
        """Return whether there are enough questions on which the rule is wrong."""
        found = self.where_wrong
        return found.count >= FEWEST_ITEMS and found.clusters >= FEWEST_STORIES

    @property
    def follows_beliefs(self) -> bool:
        """Return whether the answers follow beliefs rather than this rule."""
        drop = self.where_right.low - self.where_wrong.high
        enough = self.where_wrong.low > MAJORITY and self.preference.low > 0
        return enough and drop <= LARGEST_DROP

    @property
    def follows_rule(self) -> bool:
        """Return whether they follow this rule rather than beliefs."""
        return self.copied.low > MAJORITY and self.preference.high < 0

    @property
    def follows_neither(self) -> bool:
        """Return whether most answers follow neither."""
        return self.where_wrong.high < MAJORITY and self.copied.high < MAJORITY


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """The answers to counterfactual pairs; pairs of the same two stories go together.

    Attributes:
        accuracy: Share of pairs both of which are answered right.
        sensitivity: Share of pairs with two gold answers to which two answers were given.
    """

    accuracy: Estimate
    sensitivity: Estimate


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """What the answers follow.

    Attributes:
        follow: ``beliefs``, ``rule``, ``neither`` or ``undecided``.
        rule: The rule that they follow; else None.
        because: The reason in a sentence.
        accuracy: Of all answers.
        rules: The evidence, the most accurate rule first.
        pairs: Where there are any.
    """

    follow: str
    rule: str | None
    because: str
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]
    pairs: PairEvidence | None


def followed(follow: str, rule: str | None) -> str:
    """Return what answers follow in words: "rule (earliest exit)"."""
    return f"{follow} ({rule})" if rule else follow


def said_to_follow(follow: str, rule: str | None) -> str:
    """Return what answers follow as the beginning of a sentence."""
    if follow == "undecided":
        return "what answers follow is undecided"
    if follow == "neither":
        return "answers follow neither beliefs nor a rule"
    return f"answers follow the rule {rule!r}" if rule else f"answers follow {follow}"


def judge_answers(items: Sequence[Item]) -> AnswerVerdict:
    """Return what answers follow, with the evidence."""
    found = [_against(items, evidence) for evidence in rule_evidence(items)]
    rules = tuple(sorted(found, key=lambda each: -each.accuracy))
    pairs = _pairs(items)
    follow, rule, because = _decide(rules, pairs)
    accuracy = _share(items, [item.right for item in items], range(len(items)))
    return AnswerVerdict(follow, rule, because, accuracy, rules, pairs)


def _decide(
    rules: Sequence[AgainstRule], pairs: PairEvidence | None
) -> tuple[str, str | None, str]:
    deciding = [each for each in rules if each.decides]
    if copied := [each for each in deciding if each.follows_rule]:
        rule = max(copied, key=lambda each: each.agreement)
        because = (
            f"where the rule {rule.rule!r} is wrong, {in_percent(rule.copied)} of the answers are "
            f"the rule's and {in_percent(rule.where_wrong)} are right"
        )
        return RULE, rule.rule, because
    best = rules[0] if rules else None
    if best is None or not best.decides:
        which = "" if best is None else f" on which {best.rule!r}, the best rule, is wrong"
        count = 0 if best is None else best.where_wrong.count
        because = f"{count} questions{which}; {FEWEST_ITEMS} about {FEWEST_STORIES} stories decide"
        return UNDECIDED, None, because
    because = (
        f"where the rule {best.rule!r} is wrong, {in_percent(best.where_wrong)} of the answers are "
        f"right and {in_percent(best.copied)} are the rule's; where it is right, "
        f"{in_percent(best.where_right)} are"
    )
    if all(each.follows_neither for each in deciding):
        return NEITHER, None, because
    if not all(each.follows_beliefs for each in deciding):
        return UNDECIDED, None, because
    if pairs is not None and (against := _against_beliefs(pairs)):
        return UNDECIDED, None, f"{because}; yet {against}"
    return BELIEFS, None, because


def _against_beliefs(pairs: PairEvidence) -> str | None:
    """Return what counterfactual pairs say against beliefs, if enough of them do."""
    found = (
        ("both of a counterfactual pair are right in", pairs.accuracy),
        ("two answers are given to counterfactual pairs with two in", pairs.sensitivity),
    )
    said = [
        f"{what} {in_percent(share)}"
        for what, share in found
        if share.count >= FEWEST_ITEMS and share.low <= MAJORITY
    ]
    return " and ".join(said) or None


def in_percent(found: Estimate) -> str:
    """Return a share with its interval, in words."""
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


def _against(items: Sequence[Item], evidence: RuleEvidence) -> AgainstRule:
    wrong = evidence.wrong
    right = [place for place, is_right in enumerate(evidence.right) if is_right]
    correct = [item.right for item in items]
    clusters = [items[place].example.story_id for place in wrong]
    gold = [float(correct[place]) for place in wrong]
    copied = [float(evidence.copied[place]) for place in wrong]
    return AgainstRule(
        rule=evidence.rule,
        accuracy=evidence.accuracy,
        agreement=sum(evidence.copied) / len(items),
        where_right=_share(items, correct, right),
        where_wrong=_share(items, correct, wrong),
        copied=_share(items, evidence.copied, wrong),
        preference=change(copied, gold, clusters),
    )


def _share(items: Sequence[Item], values: Sequence[bool], places: Sequence[int]) -> Estimate:
    stories = [items[place].example.story_id for place in places]
    return share([values[place] for place in places], stories)


def _pairs(items: Sequence[Item]) -> PairEvidence | None:
    examples = [item.example for item in items]
    right = both_right(examples, [item.right for item in items])
    if not right.values:
        return None
    changed = moved(examples, [item.extracted for item in items])
    return PairEvidence(_share_of(right), _share_of(changed))


def _share_of(found: Measured) -> Estimate:
    return share([bool(value) for value in found.values.values()], list(found.stories.values()))
