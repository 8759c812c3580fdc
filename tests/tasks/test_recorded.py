"""The rules on the responses that the authors of Study 1 recorded, against their own grades."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pipeline.tasks.example import Example
from pipeline.tasks.grading import extract_tagged, match_suffix

MODELS = ("0.5b", "1.5b", "3b", "7b", "7b-instruct-1m")


def recorded(mirror: Path, model: str) -> list[dict[str, str]]:
    name = model if model.endswith("1m") else f"{model}-instruct"
    path = mirror / "recorded" / f"qwen2.5-{name}_rl800_hi_tom.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("model", MODELS)
def test_trained_models(mirror: Path, model: str) -> None:
    for row in recorded(mirror, model):
        said = extract_tagged(row["model_answer"]) or ""
        gold = Example("hi_tom", "hi_tom", "", "", row["answer"])
        assert said == row["final_answer"]
        assert (said != "" and match_suffix(said, gold)) == (row["is_correct"] == "True")
