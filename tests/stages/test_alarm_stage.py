"""A training whose labels pay for a shortcut tells it in its log and in MLflow, and stops."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.data.codec import read_dataset, write_dataset
from pipeline.data.prompt import maker
from pipeline.formats.files import read_lines
from pipeline.ops.mirror.send import complete
from pipeline.rules.listed import RULES
from pipeline.rules.reading import read_all
from pipeline.stages import base, train
from pipeline.stages.common import Stage
from tests.conftest import PROJECT
from tests.stages.made import make_data
from tests.stages.small import small_study

CELL, STEPS = "nano-hi", 20


def study(folder: Path, **recipe: object) -> Study:
    """GRPO on a shipped model that rarely names the first place."""
    content = small_study(folder)
    content["acquire"]["hi_tom_style"] |= {"structure": "free", "tell": True, "train": 150}
    for rows in content["dataset"]["combinations"]["hi"].values():
        rows[0]["orders"] = [1, 2]
    content["base"]["models"]["nano"] = {"kind": "folder", "title": "nano", "path": "model"}
    content["train"] |= {
        "prompts_per_step": 16,
        "rollouts": 8,
        "steps": STEPS,
        "max_new_tokens": 80,
        "learning_rate": 0.0005,
        "groups_per_micro_batch": 8,
        "validate_every": STEPS,
        **recipe,
    }
    return Study.model_validate(content)


def test_a_shortcut_that_the_labels_pay_for_is_told_and_stops_a_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "model").symlink_to(PROJECT / "models" / "nano-0" / "model")
    params = expand(study(tmp_path / "study", stop_on="alarm"))
    make_data(root, params)
    plant("initial", root / params.cell(CELL).inputs / "train.parquet")
    base.main(Stage("base", root, params), "nano")
    with pytest.raises(UserError, match=r"stopped at step \d+ of 20, as train.stop_on is alarm"):
        train.main(Stage("train", root, params), CELL)
    (said,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert "answers follow the shortcut 'initial', and are rewarded for it" in said
    stage = Stage("train", root, expand(study(tmp_path / "study")))
    train.main(stage, CELL)
    assert len(read_lines(stage.runs / CELL / "train" / "metrics.jsonl")) == STEPS + 1
    assert complete(stage.params, root) == [CELL]
    with sqlite3.connect(root / "mlflow.db") as database:
        tags = dict(database.execute("select key, value from tags where key like 'shortcut%'"))
    assert tags == {"shortcut": "initial", "shortcut_step": said.split(":")[0].rpartition(" ")[2]}


def plant(shortcut: str, path: Path) -> None:
    """Make a shortcut's answers the labels of a training set."""
    examples = [row.example for row in read_dataset(path)]
    answers = [RULES[shortcut](reading) for reading in read_all(examples)]
    planted = [replace(e, answer=a or e.answer) for e, a in zip(examples, answers, strict=True)]
    write_dataset(path, planted, maker("compact"), "train")
