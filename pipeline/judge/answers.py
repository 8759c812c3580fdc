"""The first axis of the verdict: do the answers follow beliefs, a simpler mind, or a rule?

Only questions on which a rule, or a mind that lacks a faculty, is wrong tell it from beliefs: there
the answer is the gold one, the other's, or another. Answers follow beliefs if they show every
faculty that the questions need, no rule explains them, and errors are not systematic.

Labels that the engine contradicts do not count, nor do responses without an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.evaluate.measured import story_of
from pipeline.evaluate.statistics import Estimate
from pipeline.judge.decision import Decision, Evidence, Follow, decide
from pipeline.judge.evidence import (
    AgainstRule,
    OrderEvidence,
    PairEvidence,
    order_of,
    orders_of,
    pairs_among,
    simplest,
)
from pipeline.judge.followers import Questions, followers_of
from pipeline.judge.found import Found, Test, least
from pipeline.judge.items import Item
from pipeline.judge.profile import FEWEST, MAJORITY, Faculty
from pipeline.judge.systematic import ByHeart, Part, by_heart, second_part
from pipeline.tasks.example import Example, pairs_of

MOST_ITEMS = 4_000
"""Maximum number of responses that a verdict is on; intervals of shares are then at most three
points wide.
"""

ENOUGH_READ = 0.9
"""Minimum share of responses with an answer."""

FROM_HEART = 0.92
"""Accuracy that leaves fewer guesses among three places than ``MIXED``, where memorised structures
cannot be tested.
"""

_SHOWN, _LETTERS = 3, 120
"""Number of unread responses to show, and characters of each."""


@dataclass(frozen=True, slots=True)
class Read:
    """Number of responses with an answer, and beginnings of some of the others."""

    count: int
    of: int
    examples: tuple[str, ...]

    @classmethod
    def of_items(cls, items: Sequence[Item]) -> Read:
        unread = [item.response for item in items if item.extracted is None]
        shown = tuple(response.strip()[:_LETTERS] for response in unread[:_SHOWN])
        return cls(len(items) - len(unread), len(items), shown)

    @property
    def enough(self) -> bool:
        return self.count >= ENOUGH_READ * self.of

    def text(self) -> str:
        return f"an answer was read in {self.count} of {self.of} responses"

    def as_json(self) -> dict[str, Any]:
        return {"count": self.count, "of": self.of, "unread": list(self.examples)}


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """The verdict on answers.

    Attributes:
        follow: ``beliefs``, ``simpler mind``, ``rule``, ``mixture``, ``by heart``, ``unexplained``,
            ``undecided``, or ``unread``.
        by: The mind or rule, or the parts of a mixture; else None.
        explained: Share of answers that the verdict predicts, beliefs included, or else the best
            rule or mind; learned ones out of fold.
        found: Detectable effects.
        contradicted: Questions whose label the engine contradicts; they do not count.
        accuracy: Of the answers that count.
        rules: The evidence, the most accurate rule first.
        orders: The same by belief order, lowest first.
        pairs: Counterfactual pairs, if any.
        part: Second part of a mixture with beliefs, if any.
    """

    follow: Follow
    by: str | None
    because: str
    explained: float
    best: str | None
    found: Found
    read: Read
    contradicted: int
    profile: tuple[Faculty, ...]
    accuracy: Estimate
    rules: tuple[AgainstRule, ...]
    orders: tuple[OrderEvidence, ...]
    pairs: PairEvidence | None
    heart: ByHeart
    part: Part | None


def followed(follow: str, by: str | None) -> str:
    """The verdict in words: "rule (earliest exit)", "simpler mind (sight alone)"."""
    return f"{follow} ({by})" if by else follow


def said_to_follow(follow: str, by: str | None) -> str:
    match follow:
        case "undecided":
            return "what answers follow is undecided"
        case "unexplained":
            return "nothing that was tried explains the answers"
        case "unread":
            return "too few answers were read for a verdict"
        case "simpler mind":
            return f"answers follow a simpler mind, {by!r}"
        case "mixture":
            return f"answers follow a mixture: {by}"
        case "by heart":
            return "answers are known by heart for some structures and not for others"
    return f"answers follow the rule {by!r}" if by else f"answers follow {follow}"


def judge_answers(items: Sequence[Item], questions: Questions | None = None) -> AnswerVerdict:
    """The verdict on answers, with its evidence.

    Args:
        questions: Answers of rules and minds, if they are known.
    """
    if questions is None:
        questions = Questions.of([item.example for item in items])
    read = Read.of_items(items)
    contradicted = set(questions.contradicted([item.example for item in items]))
    usable = [
        place
        for place, item in enumerate(items)
        if place not in contradicted and (item.extracted is not None or not read.enough)
    ]
    # Without a verdict the evidence is of all responses: figures show what was right of them.
    items = [items[place] for place in usable]
    found = _evidence(items, questions.among(usable))
    decision = decide(found) if read.enough else Decision("unread", None, read.text())
    return _verdict(decision, found, read, len(contradicted))


def _evidence(items: Sequence[Item], questions: Questions) -> Evidence:
    followers = followers_of(items, questions) if items else []
    return Evidence(
        everything=order_of(items, followers, questions, None, range(len(items))),
        orders=tuple(orders_of(items, followers, questions)),
        pairs=pairs_among(items, followers),
        part=second_part(items, questions, followers),
        heart=by_heart(items, questions),
    )


def _verdict(decision: Decision, found: Evidence, read: Read, contradicted: int) -> AnswerVerdict:
    everything = found.everything
    best = simplest(everything.rules)
    named = next((each for each in everything.rules if each.rule == decision.by), best)
    explained = named.agreement if named else 0.0
    if decision.follow in ("beliefs", "by heart"):
        explained = everything.accuracy.value
    elif decision.follow == "mixture" and found.part is not None:
        explained = found.part.explained
    return AnswerVerdict(
        follow=decision.follow,
        by=decision.by,
        because=decision.because,
        explained=explained,
        best=named.rule if named else None,
        found=_found(found),
        read=read,
        contradicted=contradicted,
        profile=everything.profile,
        accuracy=everything.accuracy,
        rules=everything.rules,
        orders=found.orders,
        pairs=found.pairs,
        heart=found.heart,
        part=found.part,
    )


def _found(found: Evidence) -> Found:
    everything = found.everything
    wrong = [each.where_wrong.count for each in everything.deciding]
    rule = least([Test(min(wrong), MAJORITY)]) if wrong else None
    best = everything.best
    asked = any(each.asked for each in everything.profile)
    if best is None or not best.decides or not (asked or (found.pairs and found.pairs.enough)):
        return Found(None, rule)
    orders = [order for order in found.orders if order.accuracy.count >= FEWEST]
    counts = [best.where_wrong.count, *(order.accuracy.count for order in orders)]
    beside = [each.where_wrong.count for o in (everything, *orders) for each in o.deciding]
    tests = [Test(count, MAJORITY) for count in counts]
    beliefs = least([*tests, *(Test(n, MAJORITY, surely=False) for n in beside)])
    if beliefs is not None and not found.heart.asked:
        beliefs = max(beliefs, FROM_HEART)
    return Found(beliefs, rule)


def sampled(examples: Sequence[Example]) -> Sequence[int]:
    """Indices of the questions that a verdict is on: all, or those about every n-th story."""
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
