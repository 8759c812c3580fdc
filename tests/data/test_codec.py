"""The one writer and reader of examples: what goes in comes out, and nothing else is read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.data.codec import (
    example_of,
    read_dataset,
    read_examples,
    write_dataset,
    write_examples,
)
from pipeline.data.prompt import PROMPTS
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task
from tests.tasks.test_registry import EVERY_TASK, examples_of

SHAPES = [
    Example("b", "gsm8k", "", "How many?", "4", answer_kind="number"),
    Example("b", "hi_tom", "Once.\n\x00 é 😀", 'Who "?"', "a, b", order=-1, choices=()),
    Example("b", "hi_tom", "Once.", "Who?", "x", order=0, choices=("x", "y, z")),
    Example("c", "tom_rl_train", "Once.", "Who?", "x", order=4, question_type="order_4"),
    Example("b", "hi_tom", "x", "y", "z", meta={"é": None, "n": [1, 2.5, {"b": True}]}),
    Example("b", "hi_tom", "x", "y", "w", story_id="another's", id="given"),
]


def through_files(examples: list[Example], folder: Path) -> None:
    """Write and read both layouts; both must give back what they got."""
    write_examples(folder / "suite.parquet", examples)
    assert read_examples(folder / "suite.parquet") == examples
    write_dataset(folder / "dataset.parquet", examples, PROMPTS["rlvr"], "train")
    rows = read_dataset(folder / "dataset.parquet")
    assert [row.example for row in rows] == examples
    assert [row.prompt for row in rows] == [PROMPTS["rlvr"](example) for example in examples]


@EVERY_TASK
def test_every_task_goes_through_both_layouts(task: Task, tmp_path: Path) -> None:
    through_files(examples_of(task.name)[:300], tmp_path)


def test_every_shape_goes_through_both_layouts_alone_and_beside_others(tmp_path: Path) -> None:
    for examples in ([shape] for shape in SHAPES):
        through_files(examples, tmp_path)
    through_files(SHAPES, tmp_path)


def test_a_dataset_is_in_verls_schema(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d.parquet", SHAPES, PROMPTS["compact"], "validation")
    frame = pd.read_parquet(tmp_path / "d.parquet")
    assert list(frame) == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    row = frame.to_dict("records")[3]
    assert row["data_source"] == "tom_rl_train" and row["ability"] == "c"
    assert row["reward_model"] == {"style": "rule", "ground_truth": "x"}
    info = row["extra_info"]
    assert (info["split"], info["index"], info["benchmark"]) == ("validation", 3, "c")
    assert example_of({**info, "num_turns": 2}, row["data_source"], "x") == SHAPES[3]


def test_what_is_no_dataset_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    with pytest.raises(UserError, match="does not exist; make it with: dvc repro dataset"):
        read_dataset(path)
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(UserError, match="damaged: it is not a parquet file"):
        read_dataset(path)
    write_examples(path, SHAPES)
    with pytest.raises(
        UserError, match="lacks the columns data_source.*dvc repro --single-item --force dataset@"
    ):
        read_dataset(path)
    with pytest.raises(UserError, match="does not exist; make it with: dvc repro suite"):
        read_examples(tmp_path / "column.parquet")


def test_a_field_of_the_wrong_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    write_dataset(path, SHAPES, PROMPTS["compact"], "train")
    frame = pd.read_parquet(path)
    frame["extra_info"] = [{**info, "answer_kind": "essay"} for info in frame["extra_info"]]
    frame.to_parquet(path)
    with pytest.raises(UserError, match=r"row 0.extra_info.answer_kind: input should be 'span'"):
        read_dataset(path)
    write_dataset(path, [], PROMPTS["compact"], "train")
    with pytest.raises(UserError, match="holds no rows"):
        read_dataset(path)
