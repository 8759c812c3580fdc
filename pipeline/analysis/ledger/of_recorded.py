"""Evidence from the answers to Hi-ToM that the authors of Study 1 recorded, of ten models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

from pipeline.analysis.ledger.evidence import AskedModel, Evidence, Rule, Run, Who
from pipeline.analysis.ledger.of_study import judged_of
from pipeline.analysis.paired import Answers
from pipeline.evaluate.answers import read_answers
from pipeline.evaluate.statistics import Estimate, share
from pipeline.judge.followers import Kind
from pipeline.judge.items import Item, items_of
from pipeline.judge.records import TaskVerdict
from pipeline.judge.verdict import judge
from pipeline.tasks import registry

TOPIC = "hi_tom"
FILES = {
    "qwen25-05b": "qwen2.5-0.5b-instruct",
    "qwen25-15b": "qwen2.5-1.5b-instruct",
    "qwen25-3b": "qwen2.5-3b-instruct",
    "qwen25-7b": "qwen2.5-7b-instruct",
    "qwen25-7b-1m": "qwen2.5-7b-instruct-1m",
}
"""What the files of each model begin with."""


def recorded_evidence(folder: Path) -> Evidence:
    """What recorded answers say for claims; models whose files are not there are left out.

    Args:
        folder: The folder with ``NAME_base_hi_tom.csv`` and ``NAME_rl800_hi_tom.csv``.

    Raises:
        UserError: If a file is damaged.
    """
    runs: dict[Who, list[Run]] = {}
    rules: dict[str, Rule] = {}
    for model, name in FILES.items():
        base, trained = (folder / f"{name}_{state}_hi_tom.csv" for state in ("base", "rl800"))
        if base.is_file() and trained.is_file():
            before, after = _asked(base, rules), _asked(trained, rules)
            runs[Who(model)] = [Run(before, before)]
            runs[Who(model, "study-1", "grpo")] = [Run(before, after)]
    return Evidence(runs, rules)


def _asked(path: Path, rules: dict[str, Rule]) -> AskedModel:
    """One model; the rules are the same whatever model was asked."""
    answers = read_answers(path, registry.get(TOPIC), ("story", "question", "answer", "response"))
    items = items_of((each.example, each.response) for each in answers)
    found = judge(items)
    best = max(e.accuracy for e in found.answers.rules if e.kind is Kind.LISTED)
    rules[TOPIC] = Rule(best, _blind(items), len(items))
    keys = [f"{item.example.story_id} {item.example.question}" for item in items]
    return AskedModel(
        answers={
            TOPIC: Answers(
                right={key: item.right for key, item in zip(keys, items, strict=True)},
                stories={k: item.example.story_id for k, item in zip(keys, items, strict=True)},
                words={k: len(item.response.split()) for k, item in zip(keys, items, strict=True)},
            )
        },
        topics={TOPIC: (TOPIC,)},
        orders={(TOPIC, order): _of_order(items, order) for order in range(5)},
        judged={TOPIC: judged_of(TaskVerdict.of([TOPIC], found, []))},
        said={TOPIC: [(item.example.story_id, item.response) for item in items]},
    )


def _blind(items: list[Item]) -> float:
    """The better one of chance among the choices and the most common answer."""
    chance = fmean(1 / len(item.example.choices or "?") for item in items)
    ((_, most),) = Counter(item.example.answer for item in items).most_common(1)
    return max(chance, most / len(items))


def _of_order(items: list[Item], order: int) -> Estimate:
    asked = [item for item in items if item.example.order == order]
    return share([item.right for item in asked], [item.example.story_id for item in asked])
