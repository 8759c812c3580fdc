"""Evidence from the answers to Hi-ToM that the authors of Study 1 recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipeline.analysis.grades import CORRECT, WORD_COUNT, grades_of
from pipeline.analysis.ledger.evidence import AskedModel, Evidence, Run, Who
from pipeline.analysis.ledger.of_study import judged_of
from pipeline.evaluate.answers import read_answers
from pipeline.evaluate.statistics import Estimate
from pipeline.judge.items import Item, items_of, share_right
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
"""What the files of each trained model begin with."""

API_FILES = {
    "gpt-4o": "gpt-4o-2024-08-06",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
    "deepseek-v3": "deepseek-chat",
}
"""The same of models behind an address, which nobody trained."""

BEFORE, AFTER = "tom-rl-json", "tom-rl"
"""The prompts of untrained and of trained models."""

STEPS = (700, 750, 800)
"""Of the 800 of a training, those after which the model was asked; the paper tells of the last."""


def file_of(model: str, step: int = 0) -> str:
    """The file of a model: as it was, or after a step of its training."""
    if model in API_FILES:
        return f"{API_FILES[model]}_{TOPIC}.csv"
    return f"{FILES[model]}_{f'rl{step}' if step else 'base'}_{TOPIC}.csv"


def read_file(path: Path) -> list[Item]:
    """What a model answered.

    Raises:
        UserError: If the file is damaged.
    """
    answers = read_answers(path, registry.get(TOPIC), ("story", "question", "answer", "response"))
    return items_of((each.example, each.response) for each in answers)


def recorded_evidence(folder: Path) -> Evidence:
    """What recorded answers say for claims; models whose files are not there are left out.

    Args:
        folder: The folder with the files that :func:`file_of` names.

    Raises:
        UserError: If a file is damaged.
    """
    return Evidence({who: [run] for who, run in _runs(folder)})


def _runs(folder: Path) -> Iterator[tuple[Who, Run]]:
    for model in API_FILES:
        if (path := folder / file_of(model)).is_file():
            asked = _asked(read_file(path), BEFORE)
            yield Who(model), Run(asked, asked)
    for model in FILES:
        base, trained = folder / file_of(model), folder / file_of(model, STEPS[-1])
        if base.is_file() and trained.is_file():
            before, after = _asked(read_file(base), BEFORE), _asked(read_file(trained), AFTER)
            yield Who(model), Run(before, before)
            yield Who(model, "study-1", "grpo"), Run(before, after)


def _asked(items: list[Item], prompt: str) -> AskedModel:
    return AskedModel(
        grades=recorded_grades(items),
        topics={TOPIC: (TOPIC,)},
        orders={(TOPIC, order): of_order(items, order) for order in range(5)},
        judged={TOPIC: judged_of(TaskVerdict.of([TOPIC], judge(items), []))},
        said={TOPIC: items},
        prompt=prompt,
    )


def recorded_grades(items: list[Item]) -> pd.DataFrame:
    """Grades and words of answers to questions, which files name by their story and text."""
    named = {f"{item.example.story_id} {item.example.question}": item for item in items}
    stories = {key: item.example.story_id for key, item in named.items()}
    right = {key: item.right for key, item in named.items()}
    words = {key: len(item.response.split()) for key, item in named.items()}
    return pd.concat(
        [
            grades_of(TOPIC, CORRECT, right, stories),
            grades_of(TOPIC, WORD_COUNT, words, stories),
        ]
    )


def of_order(items: list[Item], order: int) -> Estimate:
    return share_right([item for item in items if item.example.order == order])
