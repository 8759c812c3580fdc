"""From the evidence to the verdict on answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.formats.plural import counted
from pipeline.judge.evidence import AgainstRule, OrderEvidence, PairEvidence, in_percent
from pipeline.judge.profile import FEWEST, FEWEST_STORIES, MAJORITY, lacking, not_shown, unasked
from pipeline.judge.systematic import ByHeart, Part

Follow = Literal[
    "beliefs", "simpler mind", "rule", "mixture", "by heart", "unexplained", "undecided", "unread"
]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a verdict.

    Attributes:
        orders: By belief order, lowest first.
        part: Second part of a mixture with beliefs, if any.
    """

    everything: OrderEvidence
    orders: tuple[OrderEvidence, ...]
    pairs: PairEvidence | None
    part: Part | None
    heart: ByHeart


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, the rule or mind named, and the reason in a sentence."""

    follow: Follow
    by: str | None
    because: str


def decide(found: Evidence) -> Decision:
    everything = found.everything
    if (few := _too_few(everything)) is not None:
        return Decision("undecided", None, few)
    copied, mixed = everything.copied, _by_order(found.orders)
    if copied is not None and not (mixed and _right_in_some_order(found.orders, copied)):
        word: Follow = "simpler mind" if copied.kind.is_mind else "rule"
        return Decision(word, copied.rule, _copies(copied))
    if mixed is not None:
        return mixed
    if found.part is not None and (found.part.share or not lacking(everything.profile)):
        return Decision("mixture", f"beliefs and {found.part.by}", _two_parts(found.part))
    if found.heart.is_so and everything.accuracy.low > MAJORITY:
        return Decision("by heart", None, _structures(found.heart))
    if not (against := list(_against_beliefs(found))):
        return Decision("beliefs", None, _shown(found))
    closest = max(each.agreement for each in everything.rules)
    if everything.accuracy.high < MAJORITY and closest <= MAJORITY:
        return Decision("unexplained", None, _unexplained(everything))
    return Decision("undecided", None, "; ".join(against))


def _right_in_some_order(orders: Sequence[OrderEvidence], copied: AgainstRule) -> bool:
    """In some order, where the copied follower is wrong, more answers are right than its own."""
    same = [rule for each in orders for rule in each.rules if rule.rule == copied.rule]
    return any(r.where_wrong.count >= FEWEST_STORIES and r.preference.low > 0 for r in same)


def _too_few(everything: OrderEvidence) -> str | None:
    accuracy = everything.accuracy
    if accuracy.count < FEWEST or accuracy.clusters < FEWEST_STORIES:
        return (
            f"only {counted(accuracy.count, 'answer')} about {_stories(accuracy.clusters)}; "
            f"it takes {FEWEST} about {FEWEST_STORIES}"
        )
    if not everything.deciding:
        return "every rule and lesser mind is right on nearly all of these questions"
    return None


def _stories(count: int) -> str:
    return "1 story" if count == 1 else f"{count} stories"


def _copies(copied: AgainstRule) -> str:
    return (
        f"where the {called(copied)} is wrong, {in_percent(copied.copied)} of the answers are its "
        f"own and {in_percent(copied.where_wrong)} are right"
    )


def called(rule: AgainstRule) -> str:
    """A follower with its kind: "mind 'sight alone'"."""
    return f"{'mind' if rule.kind.is_mind else 'rule'} {rule.rule!r}"


def _two_parts(part: Part) -> str:
    if part.share is None:
        return (
            "from the wording of other stories, and what minds say, it can be told which answers "
            f"are wrong; {part.explained:.0%} of all are right or those of the second part"
        )
    return (
        f"{in_percent(part.share)} of the answers are those of {part.by} beyond chance, where that "
        "is wrong"
    )


def _structures(heart: ByHeart) -> str:
    return (
        f"answers to different stories of one structure are right or wrong together (correlation "
        f"{heart.alike:.2f} in {counted(heart.pairs, 'pair')}, at least {heart.low:.2f})"
    )


def _by_order(orders: Sequence[OrderEvidence]) -> Decision | None:
    """Beliefs in some orders and something else in others."""
    told = [each for each in orders if each.accuracy.count >= FEWEST]
    believed = [each for each in told if each.follows_beliefs]
    others = [(each, copied) for each in told if (copied := each.copied) is not None]
    lost = [each for each in told if each.accuracy.high < MAJORITY and each.copied is None]
    if not believed or not (others or lost):
        return None
    names = [f"{copied.rule} in order {each.order}" for each, copied in others]
    names += [f"neither in order {each.order}" for each in lost]
    orders_told = ", ".join(str(each.order) for each in believed)
    reasons = [_copies(copied) for _, copied in others]
    reasons += [f"in order {each.order} {in_percent(each.accuracy)} are right" for each in lost]
    by = f"beliefs in order {orders_told}, {', '.join(names)}"
    return Decision("mixture", by, "; ".join(reasons))


def _against_beliefs(found: Evidence) -> Iterator[str]:
    """Yield objections to beliefs as the verdict."""
    everything = found.everything
    best = everything.best
    if best is not None and not best.decides:
        wrong = best.where_wrong
        yield (
            f"the rule {best.rule!r} is wrong on only {counted(wrong.count, 'question')} about "
            f"{_stories(wrong.clusters)}; it takes {FEWEST} about {FEWEST_STORIES}"
        )
    if best is not None and best.decides and best.where_wrong.low <= MAJORITY:
        yield f"where the {called(best)} is wrong, {in_percent(best.where_wrong)} are right"
    failed = [each for each in everything.deciding if not each.follows_beliefs]
    if failed:
        worst = min(failed, key=lambda each: each.where_wrong.low)
        yield (
            f"where the {called(worst)} is wrong, {in_percent(worst.where_wrong)} of the answers "
            f"are right and {in_percent(worst.copied)} are its own"
        )
    for faculty in not_shown(everything.profile):
        yield faculty.text()
    for each in found.orders:
        if each.accuracy.count >= FEWEST and not each.follows_beliefs:
            yield f"in order {each.order} {in_percent(each.accuracy)} are right"
        for faculty in lacking(each.profile):
            yield f"in order {each.order} {faculty.text()}"
    if found.heart.is_open:
        yield (
            f"up to {found.heart.guessed:.0%} of the answers may be guesses, and too few stories "
            "share a structure to tell whether others are known by heart"
        )
    pairs = found.pairs
    if pairs is not None and pairs.surely_fails:
        yield f"both of a counterfactual pair are right in {in_percent(pairs.accuracy)}"
    asked = any(faculty.asked for faculty in everything.profile)
    if not asked and (pairs is None or not pairs.enough):
        yield "no faculty of a mind is asked for, and there are too few counterfactual pairs"


def _shown(found: Evidence) -> str:
    profile = found.everything.profile
    there = [faculty.text() for faculty in profile if faculty.asked]
    open_ = [faculty.text() for faculty in unasked(profile)]
    said = "; ".join(there) or "counterfactual pairs are told apart"
    return f"{said}; not asked: {'; '.join(open_)}" if open_ else said


def _unexplained(everything: OrderEvidence) -> str:
    best = max(everything.rules, key=lambda each: each.agreement)
    return (
        f"{in_percent(everything.accuracy)} of the answers are right, and the closest rule, "
        f"{best.rule!r}, predicts {best.agreement:.0%}"
    )
