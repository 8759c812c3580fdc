"""What recorded answers to Hi-ToM show, kept small in ``docs/results/recorded.json``.

The answers are those that the authors of Study 1 recorded, of five models before training and
after three steps of it, and of three models behind an address; they and the published data lie in
the folder that ``TOMRL_DATA_MIRROR`` names. ``python -m benchmarks.recorded`` judges them, compares
them question by question, and decides the claims of the papers that need nothing else;
``python -m benchmarks.quoted`` then writes the tables of ``docs/verdict.md`` and
``docs/ledger.md``. Takes a few minutes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.circumstances import circumstances_of
from pipeline.analysis.compare import compare
from pipeline.analysis.ledger.evidence import NAMES, NEVER_TRAINED
from pipeline.analysis.ledger.ledger import entries, ledger_summary
from pipeline.analysis.ledger.of_audit import audited_rules
from pipeline.analysis.ledger.of_recorded import (
    API_FILES,
    FILES,
    STEPS,
    file_of,
    of_order,
    read_file,
    recorded_evidence,
    recorded_grades,
)
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.evaluate.statistics import share
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.judge.items import Item
from pipeline.judge.signatures import Reason, response_collapse, single_signatures
from pipeline.judge.verdict import judge
from pipeline.ops.driver.checkout import find_root

FILE = "docs/results/recorded.json"


Answered = Mapping[tuple[str, int], list[Item]]
"""What each model answered, by its key and the step of its training; 0 is the untrained one."""


def judged_models(answered: Answered) -> list[dict[str, Any]]:
    """What is kept of every model, at each step of its training."""
    found = []
    for (model, step), items in answered.items():
        before = [each.response for each in answered[model, 0]] if step else None
        found.append({"model": _name(model), "step": step, **judged(items, before)})
    return found


def judged(items: list[Item], before: list[str] | None) -> dict[str, Any]:
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
        "profile": [each.as_json() for each in answers.profile],
        "beside_by": None if copied is None else {"copied": asdict(copied.copied)},
        "reasoning": reasoning.is_,
        "true": asdict(reasoning.true),
        "median_words": median(len(item.response.split()) for item in items),
        "signatures": [each.name for each in signatures if each.present],
    }


def all_answers(folder: Path) -> Answered:
    """What every recorded model answered.

    Raises:
        UserError: If a file is missing or damaged.
    """
    asked = [(model, step) for model in FILES for step in (0, *STEPS)]
    asked += [(model, 0) for model in API_FILES]
    return {each: read_file(folder / file_of(*each)) for each in asked}


def accuracies(answered: Answered) -> list[dict[str, Any]]:
    """The accuracy of every model, on all questions and by belief order."""
    return [
        {
            "model": _name(model),
            "step": step,
            "accuracy": share([i.right for i in items], _stories(items)).as_json(),
            "orders": [of_order(items, order).value for order in range(5)],
        }
        for (model, step), items in answered.items()
    ]


def compared(answered: Answered) -> list[dict[str, Any]]:
    """Models beside each other, question by question: the change, and McNemar's exact test."""
    large, larger, least = "qwen25-7b", "qwen25-7b-1m", "qwen25-05b"
    apis = ("gpt-4o", "deepseek-v3")
    pairs = [
        *(((larger, step), (api, 0)) for api in apis for step in STEPS),
        *(((larger, step), (large, step)) for step in STEPS),
        *(((least, STEPS[-1]), (api, 0)) for api in apis),
        *(((model, STEPS[-1]), (model, STEPS[0])) for model in FILES),
    ]
    return [_compared(answered, one, other) for one, other in pairs]


def _compared(answered: Answered, one: tuple[str, int], other: tuple[str, int]) -> dict[str, Any]:
    (found,) = compare(*(recorded_grades(answered[each]) for each in (other, one)))
    return {
        "one": _name(one[0]),
        "step": one[1],
        "other": _name(other[0]),
        "other_step": other[1],
        "lead": found.changed.estimate.as_json(),
        "won": len(found.gained),
        "lost": len(found.lost),
        "p_value": found.changed.p_value,
    }


def _name(model: str) -> str:
    return {**NAMES, **NEVER_TRAINED}[model]


def _stories(items: list[Item]) -> list[str]:
    return [item.example.story_id for item in items]


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
    root, mirror = find_root(), os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        raise UserError(f"set {MIRROR_VARIABLE} to the folder of upstream data")
    folder = Path(mirror).resolve()
    answered = all_answers(folder / "recorded")
    found = {
        **circumstances_of(root),
        "ledger": decided(folder),
        "accuracies": accuracies(answered),
        "compared": compared(answered),
        "models": judged_models(answered),
    }
    write_output(root / FILE, json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
