"""The verdict on one set of responses, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.evaluate.statistics import Estimate, rounded
from pipeline.judge.answers import AnswerVerdict, followed, judge_answers, sampled
from pipeline.judge.evidence import AgainstRule, OrderEvidence, PairEvidence
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.items import Item
from pipeline.judge.reasoning import ReasoningVerdict, Statements, judge_reasoning, statements
from pipeline.judge.systematic import Part
from pipeline.judge.used import RECORDED, Used


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdicts on answers and on reasoning."""

    answers: AnswerVerdict
    reasoning: ReasoningVerdict

    @property
    def words(self) -> str:
        """In a few words: "rule (earliest exit), unfaithful"."""
        return f"{followed(self.answers.follow, self.answers.by)}, {self.reasoning.is_}"

    def as_json(self) -> dict[str, Any]:
        """With the evidence of each axis, shares rounded to four decimals."""
        answers, reasoning = self.answers, self.reasoning
        shares = ("silent", "true", "consistent", "decisive", "wrong_trace")
        return {
            "answers": answers.follow,
            "by": answers.by,
            "explained": round(answers.explained, 4),
            "found": answers.found.as_json(),
            "answered": answers.read.as_json(),
            "profile": [each.as_json() for each in answers.profile],
            "reasoning": reasoning.is_,
            "evidence": {
                "answers": {
                    "because": answers.because,
                    "accuracy": answers.accuracy.as_json(),
                    "best": answers.best,
                    "contradicted": answers.contradicted,
                    "alike": answers.heart.as_json(),
                    "part": _json(answers.part),
                    "rules": [_json(each) for each in answers.rules],
                    "orders": {str(each.order): _order_json(each) for each in answers.orders},
                    "pairs": _json(answers.pairs),
                },
                "reasoning": {
                    "because": reasoning.because,
                    "readable": round(reasoning.readable, 4),
                    **{name: _json(getattr(reasoning, name)) for name in shares},
                    **_used_json(reasoning.used),
                },
            },
        }


def judge(
    items: Sequence[Item],
    stated: Sequence[Statements | None] | None = None,
    used: Used = RECORDED,
) -> Verdict:
    """The verdict on responses: of many, on those to the questions that are sampled.

    Args:
        stated: Their statements, if they are known.
        used: What came of edited reasoning.
    """
    places = sampled([item.example for item in items])
    known = stated and [stated[place] for place in places]
    return judge_all([items[place] for place in places], known, used)


def judge_all(
    items: Sequence[Item],
    stated: Sequence[Statements | None] | None = None,
    used: Used = RECORDED,
    questions: Questions | None = None,
) -> Verdict:
    """The verdict on every response.

    Args:
        stated: Their statements, if they are known.
        used: What came of edited reasoning.
        questions: Answers of rules and minds, if they are known.
    """
    if stated is None:
        stated = [statements(item) for item in items]
    return Verdict(judge_answers(items, questions), judge_reasoning(items, stated, used))


def _json(found: object) -> Any:
    """A part of the evidence; an estimate of nothing is None."""
    match found:
        case Estimate():
            return found.as_json() if found.count else None
        case Kind():
            return found.name.lower()
        case AgainstRule() | PairEvidence() | Part():
            return {name: _json(value) for name, value in rounded(found).items()}
    return found


def _used_json(found: Used) -> dict[str, Any]:
    return {
        "used": None if found.untried else _json(found.followed),
        "untried": found.untried,
        "stays": _json(found.stays),
        "edits": {kind: _json(each) for kind, each in found.by_kind.items()},
        "restated": _json(found.restated),
    }


def _order_json(found: OrderEvidence) -> dict[str, Any]:
    """The answers of one order, compared with the rules that are wrong often enough there."""
    return {
        "accuracy": _json(found.accuracy),
        "beliefs": found.follows_beliefs,
        "rules": [_json(each) for each in found.deciding],
    }
