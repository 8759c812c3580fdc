"""Building datasets: parts of registered tasks, combined, checked for leaks, and written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from pipeline.config.data import Part
from pipeline.config.params import DatasetEntry, ProbeEntry
from pipeline.data.folds import Folds
from pipeline.data.prompt import PROMPTS
from pipeline.data.sources import SOURCES
from pipeline.errors import UserError
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task

Stamp = tuple[tuple[str, int, int], ...]


def select(raw: Path, part: Part, seed: int) -> list[Example]:
    """Return the examples that a part asks for, in upstream's order.

    Raises:
        UserError: If fewer than ``limit`` examples are there, or none at all.
    """
    task = registry.get(part.task)
    examples = [example for example in _examples_of(raw, task) if _wanted(example, part)]
    if part.fold is not None:
        folds = Folds.of(_examples_of(raw, registry.get(task.folds_like or task.name)))
        examples = [e for e in examples if folds.fold_of(e.story_id) == part.fold]
    if not examples or (part.limit is not None and len(examples) < part.limit):
        asked = part.model_dump(exclude_defaults=True)
        raise UserError(
            f"task {part.task}: {part.limit or 'some'} examples asked for, {len(examples)} fit "
            f"{asked}; lower the limit or loosen the conditions"
        )
    if part.limit is not None and part.limit < len(examples):
        random = Random(f"{seed}:select:{part.task}")
        chosen = sorted(random.sample(range(len(examples)), part.limit))
        examples = [examples[index] for index in chosen]
    return examples


def _examples_of(raw: Path, task: Task) -> tuple[Example, ...]:
    """Return a task's examples; several parts of a study take rows of the same one."""
    files = sorted(raw.glob("*/*"))
    stamp = tuple((str(f), (stat := f.stat()).st_mtime_ns, stat.st_size) for f in files)
    return _loaded(raw, task.name, stamp)


@lru_cache(maxsize=4)
def _loaded(raw: Path, name: str, stamp: Stamp) -> tuple[Example, ...]:
    return tuple(registry.get(name).examples(raw))


def _wanted(example: Example, part: Part) -> bool:
    return (part.orders is None or example.order in part.orders) and all(
        _field(example, name) == value for name, value in part.where.items()
    )


def _field(example: Example, name: str) -> Any:
    return example.meta[name] if name in example.meta else getattr(example, name, None)


def select_parts(raw: Path, parts: Iterable[Part], seed: int) -> list[Example]:
    """Return the examples of several parts, one after the other."""
    return [example for part in parts for example in select(raw, part, seed)]


def select_probe(raw: Path, probe: ProbeEntry) -> dict[str, list[Example]]:
    """Return for every column of a probe some of the examples that the suite has for it."""
    found = {}
    for name, column in probe.columns.items():
        examples = select(raw, column, seed=0)
        random = Random(f"probe:{name}")
        count = min(probe.limit, len(examples))
        chosen = sorted(random.sample(range(len(examples)), count))
        found[name] = [examples[index] for index in chosen]
    return found


def training_rows(examples: Sequence[Example], prompt: str, split: str) -> list[dict[str, Any]]:
    """Return rows in verl's RL schema; story and question are there for rewards on reasoning."""
    return [
        {
            "data_source": example.task,
            "prompt": PROMPTS[prompt](example),
            "ability": example.benchmark,
            "reward_model": {"style": "rule", "ground_truth": example.answer},
            "extra_info": {
                "id": example.id,
                "story_id": example.story_id,
                "order": example.order,
                "question_type": example.question_type,
                "split": split,
                "index": index,
                "story": example.story,
                "question": example.question,
                "answer_kind": example.answer_kind,
                "choices": json.dumps(example.choices) if example.choices else None,
                "meta": json.dumps(dict(example.meta), ensure_ascii=False, sort_keys=True),
            },
        }
        for index, example in enumerate(examples)
    ]


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write a parquet file."""
    pd.DataFrame(list(rows)).to_parquet(path, index=False)


def check_stories_apart(entry: DatasetEntry, sets: dict[str, list[Example]]) -> dict[str, int]:
    """Count stories that stand in more than one set; refuse them under ``by-story``.

    Returns:
        Number of shared stories for each pair of sets, such as ``train/validation``.

    Raises:
        UserError: If a story is shared and the study does not say ``published``.
    """
    stories = {name: {e.story_id for e in examples} for name, examples in sets.items()}
    names = list(stories)
    shared = {
        f"{one}/{other}": len(stories[one] & stories[other])
        for index, one in enumerate(names)
        for other in names[index + 1 :]
    }
    leaks = {pair: count for pair, count in shared.items() if count}
    if leaks and entry.split == "by-story":
        found = ", ".join(f"{count} in {pair}" for pair, count in leaks.items())
        raise UserError(
            f"stories stand on both sides of a split: {found}. The study says split: by-story; "
            "choose parts that share no story, or say split: published to keep the papers' splits"
        )
    return shared


def check_licences(entry: DatasetEntry) -> dict[str, str]:
    """Return the licence of every upstream source trained on; refuse restricted ones.

    Raises:
        UserError: If a source is non-commercial or evaluation-only and the study gives no
            ``licence_note`` that says why it may be used here.
    """
    licences = {}
    for part in entry.train:
        for name in registry.get(part.task).sources:
            if name not in SOURCES:
                continue
            source = SOURCES[name]
            terms = " / ".join(source.licences)
            limits = [
                text
                for flag, text in (
                    (source.non_commercial, "non-commercial"),
                    (source.evaluation_only, "evaluation only"),
                )
                if flag
            ]
            if limits and entry.licence_note is None:
                raise UserError(
                    f"training task {part.task} uses source {name} ({terms}), which is "
                    f"{' and '.join(limits)}. Say why it may be trained on in dataset.licence_note"
                )
            licences[name] = ", ".join([terms, *limits])
    return licences


def data_card(
    entry: DatasetEntry, sets: dict[str, list[Example]], shared: dict[str, int]
) -> dict[str, Any]:
    """Return what a person should know of a dataset before training on it."""
    return {
        "split": entry.split,
        "prompt": entry.prompt,
        "licences": check_licences(entry),
        "licence_note": entry.licence_note,
        "stories_shared": shared,
        "sets": {name: _summary(examples) for name, examples in sets.items()},
    }


def _summary(examples: list[Example]) -> dict[str, Any]:
    orders = Counter(example.order for example in examples)
    return {
        "rows": len(examples),
        "stories": len({example.story_id for example in examples}),
        "orders": {str(order): orders[order] for order in sorted(orders, key=str)},
        "benchmarks": dict(sorted(Counter(e.benchmark for e in examples).items())),
        # Where a benchmark's own answers may not be at hand, its rows say where theirs come from.
        "gold": dict(Counter(e.meta["gold_source"] for e in examples if "gold_source" in e.meta)),
    }


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """Write examples as parquet; choices and meta as JSON text, so that any of them fit."""
    columns = [
        {
            "id": e.id,
            "benchmark": e.benchmark,
            "task": e.task,
            "story_id": e.story_id,
            "story": e.story,
            "question": e.question,
            "choices": json.dumps(e.choices) if e.choices is not None else None,
            "answer": e.answer,
            "answer_kind": e.answer_kind,
            "order": e.order,
            "question_type": e.question_type,
            "meta": json.dumps(dict(e.meta), ensure_ascii=False, sort_keys=True),
        }
        for e in examples
    ]
    frame = pd.DataFrame(columns)
    frame["order"] = frame["order"].astype("Int64")
    frame.to_parquet(path, index=False)


def read_examples(path: Path) -> list[Example]:
    """Read examples written by :func:`write_examples`.

    Raises:
        UserError: If the file is missing or not readable.
    """
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; make it with: dvc repro suite") from None
    except Exception as error:
        raise UserError(
            f"{path} is not a readable parquet file ({error}); delete it and run: dvc repro suite"
        ) from error
    return [_example(record) for record in frame.to_dict("records")]


def _example(record: dict[Any, Any]) -> Example:
    choices = json.loads(record["choices"]) if isinstance(record["choices"], str) else None
    return Example(
        benchmark=record["benchmark"],
        task=record["task"],
        story=record["story"],
        question=record["question"],
        answer=record["answer"],
        answer_kind=record["answer_kind"],
        choices=None if choices is None else tuple(choices),
        order=None if pd.isna(record["order"]) else int(record["order"]),
        question_type=record["question_type"],
        meta=json.loads(record["meta"]),
        story_id=record["story_id"],
        id=record["id"],
    )
