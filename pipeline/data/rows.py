"""Rows of a dataset parquet as the examples they stand for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.tasks.example import Example


def example_of(
    info: Mapping[str, Any], *, benchmark: str, task: str, answer: str, story_id: str, id: str
) -> Example:
    """Return the example that grades a row; the story is there only where the dataset holds it.

    Args:
        info: The row's ``extra_info``.
        benchmark: The row's ``ability``.
        task: The row's ``data_source``.
        answer: The gold answer.
        story_id: Of the row.
        id: Of the row.
    """
    order, choices = info.get("order"), info.get("choices")
    return Example(
        benchmark=benchmark,
        task=task,
        story=info.get("story") or "",
        question=info.get("question") or "",
        answer=answer,
        answer_kind=info.get("answer_kind") or "span",
        choices=tuple(json.loads(choices)) if choices else None,
        order=None if order is None or pd.isna(order) else int(order),
        question_type=info.get("question_type") or "",
        meta=json.loads(info.get("meta") or "{}"),
        story_id=story_id,
        id=id,
    )
