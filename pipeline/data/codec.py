"""Examples in files: their one writer and one reader.

Two layouts hold the same fields. A *suite* has them side by side, for evaluation. A *dataset* has
verl's RL schema, which the local trainer reads as well: task and gold answer where verl looks for
them, the rest under ``extra_info``, which verl hands to the reward. Choices and meta are JSON text,
so that any of them fit one column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pandas as pd
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from pipeline.base.errors import UserError
from pipeline.data.messages import Messages
from pipeline.formats.records import damage, refuse_foreign, unreadable
from pipeline.tasks.example import AnswerKind, Example

_SUITE = (
    *("id", "benchmark", "task", "story_id", "story", "question", "choices", "answer"),
    *("answer_kind", "order", "question_type", "meta"),
)
_DATASET = ("data_source", "prompt", "ability", "reward_model", "extra_info")


Content = TypeVar("Content")


class Fields(TypedDict):
    """The fields of an example in both layouts, beside task and gold answer."""

    id: str
    benchmark: str
    story_id: str
    order: int | None
    question_type: str
    story: str
    question: str
    answer_kind: AnswerKind
    choices: str | None
    meta: str


class _SuiteRow(Fields):
    task: str
    answer: str


class _RewardModel(TypedDict):
    ground_truth: str


class _DatasetRow(TypedDict):
    data_source: str
    prompt: Messages
    reward_model: _RewardModel
    extra_info: Fields


_fields = TypeAdapter(Fields)
_suite_rows = TypeAdapter(list[_SuiteRow])
_dataset_rows = TypeAdapter(list[_DatasetRow])


@dataclass(frozen=True, slots=True)
class Prompted:
    """A row of a dataset: an example and its prompt."""

    prompt: Messages
    example: Example


def example_of(info: Mapping[str, object], task: str, answer: str) -> Example:
    """The example of a dataset's row, from ``extra_info``, ``data_source`` and gold answer.

    Fields added by others are ignored; UserError for a missing field or a wrong type.
    """
    try:
        return _decoded(_fields.validate_python(info), task, answer)
    except (ValidationError, ValueError) as error:
        raise UserError(f"a row of task {task} is in no dataset's layout: {error}") from error


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    rows = [{**_encoded(e), "task": e.task, "answer": e.answer} for e in examples]
    frame = pd.DataFrame(rows, columns=list(_SUITE))
    frame["order"] = frame["order"].astype("Int64")
    frame.to_parquet(path, index=False)


def read_examples(path: Path) -> list[Example]:
    rows = _rows(path, _SUITE, "suite", _suite_rows)
    return [_decoded(row, row["task"], row["answer"]) for row in rows]


def read_column(path: Path, task: str) -> list[Example]:
    """Read the examples of a suite's column; UserError if it is of another task."""
    examples = read_examples(path)
    refuse_foreign(path, "task", [example.task for example in examples], [task], "suite")
    return examples


def write_dataset(
    path: Path, examples: Sequence[Example], prompt: Callable[[Example], Messages], split: str
) -> None:
    rows = [
        {
            "data_source": example.task,
            "prompt": prompt(example),
            "ability": example.benchmark,
            "reward_model": {"style": "rule", "ground_truth": example.answer},
            "extra_info": _encoded(example) | {"split": split, "index": index},
        }
        for index, example in enumerate(examples)
    ]
    pd.DataFrame(rows, columns=list(_DATASET)).to_parquet(path, index=False)


def read_dataset(path: Path) -> list[Prompted]:
    rows = _rows(path, _DATASET, f"dataset@{path.parent.name}", _dataset_rows)
    return [
        Prompted(
            row["prompt"],
            _decoded(row["extra_info"], row["data_source"], row["reward_model"]["ground_truth"]),
        )
        for row in rows
    ]


def _encoded(example: Example) -> Fields:
    choices = None if example.choices is None else json.dumps(example.choices)
    return {
        "id": example.id,
        "benchmark": example.benchmark,
        "story_id": example.story_id,
        "order": example.order,
        "question_type": example.question_type,
        "story": example.story,
        "question": example.question,
        "answer_kind": example.answer_kind,
        "choices": choices,
        "meta": json.dumps(dict(example.meta), ensure_ascii=False, sort_keys=True),
    }


def _decoded(fields: Fields, task: str, answer: str) -> Example:
    choices = fields["choices"]
    return Example(
        benchmark=fields["benchmark"],
        task=task,
        story=fields["story"],
        question=fields["question"],
        answer=answer,
        answer_kind=fields["answer_kind"],
        choices=None if choices is None else tuple(json.loads(choices)),
        order=fields["order"],
        question_type=fields["question_type"],
        meta=json.loads(fields["meta"]),
        story_id=fields["story_id"],
        id=fields["id"],
    )


def _rows(
    path: Path, columns: Sequence[str], made_by: str, rows: TypeAdapter[list[Content]]
) -> list[Content]:
    """The validated rows of a stage's parquet file; UserError if missing, damaged or empty."""
    from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]

    try:
        with parquet.ParquetFile(path) as file:
            records = file.read().to_pylist()
    except FileNotFoundError as error:
        raise unreadable(path, error, made_by) from None
    except (ArrowException, OSError, ValueError) as error:
        first = (str(error).splitlines() or [""])[0][:200]
        raise damage(path, f"it is not a parquet file ({first})", made_by) from None
    if not records:
        raise damage(path, "it holds no rows", made_by)
    if missing := [name for name in columns if name not in records[0]]:
        raise damage(path, f"it lacks the columns {', '.join(missing)}", made_by)
    try:
        return rows.validate_python(records)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(map(str, found["loc"]))
        raise damage(path, f"row {place}: {found['msg'].lower()}", made_by) from None
