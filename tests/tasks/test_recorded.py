"""The rules on the responses that the authors of Study 1 recorded, against their own grades."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pipeline.tasks.example import Example
from pipeline.tasks.grading import (
    Extractor,
    Matcher,
    extract_tagged,
    match_suffix,
)

MODELS = ("0.5b", "1.5b", "3b", "7b", "7b-instruct-1m")
TRAINED = (70.83, 79.17, 81.17, 83.33, 84.50)


def recorded(mirror: Path, model: str) -> list[dict[str, str]]:
    name = model if model.endswith("1m") else f"{model}-instruct"
    path = mirror / "recorded" / f"qwen2.5-{name}_rl800_hi_tom.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def grades(rows: list[dict[str, str]], extract: Extractor, match: Matcher) -> list[bool]:
    found = [(extract(row["model_answer"]), row["answer"]) for row in rows]
    gold = [Example("hi_tom", "hi_tom", "", "", answer) for _, answer in found]
    return [bool(text) and match(text or "", ex) for (text, _), ex in zip(found, gold, strict=True)]


def percent(values: list[bool]) -> float:
    return round(100 * sum(values) / len(values), 2)


@pytest.mark.parametrize(("model", "expected"), list(zip(MODELS, TRAINED, strict=True)))
def test_trained_models(mirror: Path, model: str, expected: float) -> None:
    rows = recorded(mirror, model)
    mine = grades(rows, extract_tagged, match_suffix)
    assert mine == [row["is_correct"] == "True" for row in rows]
    assert [extract_tagged(row["model_answer"]) or "" for row in rows] == [
        row["final_answer"] for row in rows
    ]
    assert percent(mine) == expected
