"""Recorded responses and grades that are gone, cut off or lack a column."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.judge.items import Item
from pipeline.judge.recorded import read_table, recorded_items
from pipeline.tasks.example import Example


def test_answers_stand_beside_the_questions_of_the_suite(tmp_path: Path) -> None:
    asked = [Example("hi_tom", "hi_tom", "story", f"{n}?", "box") for n in range(2)]
    ids = [each.id for each in asked]
    grades = pd.DataFrame({"id": ids, "correct": [True, False], "extracted": ["box", None]})
    rows = pd.DataFrame({"id": ids, "task": "c", "response": ["in a box", "so"]})
    rows.to_parquet(tmp_path / "responses.parquet")
    grades.to_parquet(tmp_path / "grades.parquet")
    expected = [Item(asked[0], "in a box", "box", True), Item(asked[1], "so", None, False)]
    assert recorded_items(tmp_path, {"c": asked}, "evaluate@a") == {"c": expected}
    with pytest.raises(UserError, match="its column c does not answer the questions"):
        recorded_items(tmp_path, {"c": asked[::-1]}, "evaluate@a")
    grades[::-1].to_parquet(tmp_path / "grades.parquet")
    with pytest.raises(UserError, match="it grades other responses"):
        recorded_items(tmp_path, {"c": asked}, "evaluate@a")


def test_what_cannot_be_read_is_named_with_its_stage(tmp_path: Path) -> None:
    path = tmp_path / "responses.parquet"
    with pytest.raises(UserError, match=r"does not exist; make it with: dvc repro evaluate@a"):
        read_table(path, ("id", "response"), "evaluate@a")
    pd.DataFrame({"id": ["1"], "sample": [0]}).to_parquet(path)
    assert list(read_table(path, ("id",), "evaluate@a")["sample"]) == [0]
    with pytest.raises(UserError, match=r"no column response\..*--force evaluate@a"):
        read_table(path, ("id", "response"), "evaluate@a")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"responses\.parquet is damaged.*evaluate@a"):
        read_table(path, ("id",), "evaluate@a")
