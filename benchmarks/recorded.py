"""What recorded answers of real models show, kept small in ``docs/results/recorded.json``.

Two groups of people recorded answers to Hi-ToM: the authors of Study 1, of five models before
training and after three steps of it, and of three models behind an address; and in 2023 others, of
GPT-4 and Claude-instant, who also asked GPT-4 questions of ToMi. They and the published data lie in
the folder that ``TOMRL_DATA_MIRROR`` names. ``python -m benchmarks.recorded`` judges them, compares
them question by question, and decides the claims of the papers that need nothing else;
``python -m benchmarks.quoted`` then writes the tables of ``docs/field.md``. Takes a few minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from benchmarks.circumstances import data_mirror, store
from benchmarks.ledger_audit import audited_rules
from benchmarks.ledger_recorded import (
    API_FILES,
    FILES,
    STEPS,
    file_of,
    of_order,
    read_file,
    recorded_evidence,
)
from pipeline.analysis.board import items_of_answers, side_by_side
from pipeline.analysis.ledger.evidence import NAMES, NEVER_TRAINED
from pipeline.analysis.ledger.ledger import entries, ledger_summary
from pipeline.base.errors import UserError
from pipeline.judge.followers import Questions
from pipeline.judge.foreign import ForeignAnswers
from pipeline.judge.items import Item, share_right
from pipeline.judge.signatures import Reason, response_collapse, single_signatures
from pipeline.judge.verdict import judge
from pipeline.ops.driver.checkout import find_root

OF_2023 = {
    "GPT-4, 2023": "gpt-4_vp",
    "GPT-4, 2023, step by step": "gpt-4_cotp",
    "Claude-instant, 2023": "claude-instant_vp",
    "Claude-instant, 2023, step by step": "claude-instant_cotp",
}
"""Files of answers to Hi-ToM by who gave them: the answer alone, or after reasoning."""

_THEIR_GRADES = ("is_correct", "rule_based_eval")
"""The columns in which the authors of Study 1 say what they found right."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model answered.

    Attributes:
        kind: ``base``, ``rl``, ``address`` (asked by the authors of Study 1) or ``2023``.
        step: Of its training; 0 if it was not trained.
        theirs: Which answers those who recorded them found right; None where they do not say.
    """

    model: str
    kind: str
    step: int
    items: Sequence[Item]
    theirs: Sequence[bool] | None


def all_answers(mirror: Path) -> dict[tuple[str, int], Answered]:
    """What every recorded model answered to Hi-ToM, by its name and step.

    Raises:
        UserError: If a file is missing or damaged.
    """
    asked = [(model, step) for model in FILES for step in (0, *STEPS)]
    asked += [(model, 0) for model in API_FILES]
    found = [_of_study_1(mirror / "recorded", *each) for each in asked]
    found += [
        Answered(model, "2023", 0, _answers(mirror, f"{name}.jsonl"), None)
        for model, name in OF_2023.items()
    ]
    return {(each.model, each.step): each for each in found}


def _of_study_1(folder: Path, model: str, step: int) -> Answered:
    path = folder / file_of(model, step)
    grades = pd.read_csv(path, encoding="utf-8-sig", dtype=str)
    (column,) = (name for name in _THEIR_GRADES if name in grades)
    theirs = [str(each).lower() in ("true", "1") for each in grades[column]]
    kind = "address" if model in API_FILES else "rl" if step else "base"
    return Answered({**NAMES, **NEVER_TRAINED}[model], kind, step, read_file(path), theirs)


def _answers(mirror: Path, name: str) -> list[Item]:
    return items_of_answers(ForeignAnswers.of(mirror / "recorded_2023" / name))


def judged_models(answered: Mapping[tuple[str, int], Answered]) -> list[dict[str, Any]]:
    """What is kept of every model, at each step of its training."""
    found = []
    for (model, step), each in answered.items():
        before = [item.response for item in answered[model, 0].items] if step else None
        found.append(
            {"model": model, "kind": each.kind, "step": step}
            | accuracies(each)
            | judged(each.items, before)
        )
    return found


def accuracies(answered: Answered) -> dict[str, Any]:
    """Accuracy on all questions and by belief order, and beside it what the authors found."""
    items = answered.items
    theirs = answered.theirs
    return {
        "all": share_right(items).as_json(),
        "orders": [of_order(list(items), order).value for order in range(5)],
        "theirs": None if theirs is None else sum(theirs) / len(theirs),
        "graded_otherwise": None
        if theirs is None
        else sum(item.right != each for item, each in zip(items, theirs, strict=True)),
    }


def judged(items: Sequence[Item], before: list[str] | None) -> dict[str, Any]:
    """What is kept of the verdict on a model's answers.

    Args:
        items: The answers.
        before: What the model responded before training, where it was trained.
    """
    found, signatures = judge(items), single_signatures(items)
    if before is not None:
        after = [item.response for item in items]
        told = ([Reason.of(text) for text in texts] for texts in (before, after))
        signatures.append(response_collapse(*told))
    answers, reasoning = found.answers, found.reasoning
    copied = next((each for each in answers.rules if each.rule == answers.by), None)
    return {
        "answers": answers.follow,
        "by": answers.by,
        "explained": answers.explained,
        "accuracy": asdict(answers.accuracy),
        "answered": answers.read.as_json(),
        "profile": [each.as_json() for each in answers.profile],
        "beside_by": None if copied is None else {"copied": asdict(copied.copied)},
        "reasoning": reasoning.is_,
        "true": asdict(reasoning.true),
        "median_words": median(len(item.response.split()) for item in items),
        "signatures": [each.name for each in signatures if each.present],
    }


def compared(answered: Mapping[tuple[str, int], Answered]) -> list[dict[str, Any]]:
    """Models beside each other, question by question: the lead, and McNemar's exact test."""
    return [
        {
            "one": one[0],
            "step": one[1],
            "other": other[0],
            "other_step": other[1],
            "order": order,
            **_lead(*(_asked(answered[each].items, order) for each in (one, other))),
        }
        for one, other, order in _pairs()
    ]


def _pairs() -> Iterator[tuple[tuple[str, int], tuple[str, int], int | None]]:
    """Who is compared with whom, and at which belief order."""
    large, larger, least, last = NAMES["qwen25-7b"], NAMES["qwen25-7b-1m"], "0.5B", STEPS[-1]
    apis = [(NEVER_TRAINED[each], 0) for each in ("gpt-4o", "deepseek-v3")]
    yield from (((larger, step), api, None) for api in apis for step in STEPS)
    yield from (((larger, step), (large, step), None) for step in STEPS)
    yield from (((least, last), api, order) for api in apis for order in (None, 0))
    yield from (((NAMES[model], last), (NAMES[model], STEPS[0]), None) for model in FILES)
    yield from (((f"{name}, step by step", 0), (name, 0), None) for name in list(OF_2023)[::2])


def _asked(items: Sequence[Item], order: int | None) -> list[Item]:
    return [item for item in items if order in (None, item.example.order)]


def _lead(one: Sequence[Item], other: Sequence[Item]) -> dict[str, Any]:
    found = side_by_side(other, one)
    if found is None:
        raise UserError("two models were asked no question in common")
    return {
        "lead": found.changed.estimate.as_json(),
        "won": len(found.gained),
        "lost": len(found.lost),
        "p_value": found.changed.p_value,
    }


def tomi(mirror: Path) -> dict[str, Any]:
    """How many second-order errors of GPT-4 on ToMi are those of the benchmark.

    An error is the benchmark's if the label contradicts the belief engine on the story.
    """
    path = mirror / "recorded_2023" / "gpt-4_tomi.csv"
    items = _answers(mirror, path.name)
    kinds = pd.read_csv(path, dtype=str)["question_type"]
    pairs = zip(items, kinds, strict=True)
    second = [item for item, kind in pairs if kind.startswith("second_order")]
    asked = [item.example for item in second]
    contradicted = set(Questions.of(asked).contradicted(asked))
    wrong = {place for place, item in enumerate(second) if not item.right}
    return {
        "asked": len(second),
        "contradicted": len(contradicted),
        "wrong": len(wrong),
        "wrong_and_contradicted": len(wrong & contradicted),
        **judged(items, None),
    }


def decided(mirror: Path) -> dict[str, Any]:
    """The claims that recorded answers and the published data decide."""
    found = recorded_evidence(mirror / "recorded")
    everything = entries(replace(found, rules=audited_rules(mirror)))
    kept = [each for each in everything if each.word != "not run"]
    return {
        "summary": ledger_summary(everything),
        "claims": [[each.id, each.says, each.word, each.why] for each in kept],
    }


def main() -> int:
    """Judge, and write what is kept."""
    mirror = data_mirror()
    answered = all_answers(mirror)
    found = {
        "ledger": decided(mirror),
        "compared": compared(answered),
        "models": judged_models(answered),
        "tomi": tomi(mirror),
    }
    store(find_root(), "recorded", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
