"""What the recorded answers of ten models show, kept small in ``docs/results/recorded.json``.

The answers are those that the authors of Study 1 recorded; they and the published data lie in the
folder that ``TOMRL_DATA_MIRROR`` names. ``python -m benchmarks.recorded`` judges them, and decides
the claims of the papers that need nothing else; ``python -m benchmarks.quoted`` then writes the
tables of ``docs/verdict.md`` and ``docs/ledger.md``. Takes a few minutes.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.circumstances import circumstances_of
from pipeline.analysis.ledger.evidence import NAMES
from pipeline.analysis.ledger.ledger import entries, ledger_summary
from pipeline.analysis.ledger.of_audit import audited_rules
from pipeline.analysis.ledger.of_recorded import FILES, TOPIC, recorded_evidence
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.evaluate.answers import read_answers
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.judge.answers import AgainstRule
from pipeline.judge.items import Item, items_of
from pipeline.judge.signatures import Reason, response_collapse, single_signatures
from pipeline.judge.verdict import judge
from pipeline.ops.driver.checkout import find_root
from pipeline.tasks import registry

FILE = "docs/results/recorded.json"
RULE = "earliest exit"
STATES = {"base": "base", "RL": "rl800"}
"""What the files of a model are called before and after training."""


def judged_models(folder: Path) -> list[dict[str, Any]]:
    """What is kept of every model, before and after training."""
    found = []
    for model, file in FILES.items():
        before: list[str] | None = None
        for state, named in STATES.items():
            items = _items(folder / f"{file}_{named}_hi_tom.csv")
            found.append({"model": NAMES[model], "state": state, **judged(items, before)})
            before = [item.response for item in items]
    return found


def _items(path: Path) -> list[Item]:
    answers = read_answers(path, registry.get(TOPIC), ("story", "question", "answer", "response"))
    return items_of((each.example, each.response) for each in answers)


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
    (rule,) = (each for each in answers.rules if each.rule == RULE)
    copied = next((each for each in answers.rules if each.rule == answers.by), None)
    return {
        "answers": answers.follow,
        "by": answers.by,
        "explained": answers.explained,
        "best": answers.best,
        "beside_rule": _beside(rule),
        "beside_by": None if copied is None else _beside(copied),
        "reasoning": reasoning.is_,
        "true": asdict(reasoning.true),
        "consistent": asdict(reasoning.consistent),
        "median_words": median(len(item.response.split()) for item in items),
        "signatures": [each.name for each in signatures if each.present],
    }


def _beside(found: AgainstRule) -> dict[str, Any]:
    """The answers beside a rule."""
    shares = ("where_right", "where_wrong", "copied")
    return {
        "accuracy": found.accuracy,
        **{name: asdict(getattr(found, name)) for name in shares},
    }


def decided(mirror: Path) -> dict[str, Any]:
    """The claims that recorded answers and the published data decide."""
    found = recorded_evidence(mirror / "recorded")
    everything = entries(replace(found, rules={**audited_rules(mirror), **found.rules}))
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
    found = {
        **circumstances_of(root),
        "ledger": decided(folder),
        "models": judged_models(folder / "recorded"),
    }
    write_output(root / FILE, json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
