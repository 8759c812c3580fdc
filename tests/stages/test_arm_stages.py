"""Cells that differ in how they are trained, from the study file to their answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from transformers import AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.data.codec import read_dataset, write_dataset
from pipeline.formats.files import read_lines
from pipeline.stages import evaluate, train
from pipeline.stages.common import Stage
from pipeline.stages.training import say_left_out
from pipeline.train.data import CellRows, TokenisedRow, TokenisedRows, imitable
from tests.conftest import PROJECT, edited, shrink
from tests.stages.made import make_base

ARMS = {
    "grpo": {"algorithm": "grpo"},
    "blunt": {"algorithm": "grpo", "think": False},
    "random": {"algorithm": "grpo", "reward": "random"},
    "answers": {"algorithm": "sft", "steps": 2},
    "traces": {"algorithm": {"name": "sft", "imitates": "traces"}},
    "rule": {"algorithm": {"name": "sft", "imitates": "rule"}},
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A study with every arm, up to its base model."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    with edited(root / "studies" / "mini.yaml") as study:
        del study["grid"]["algorithms"]
        study["grid"]["arms"] = ARMS
    params = expand(find_study(root, "mini"))
    make_base(root, params)
    return Stage("train", root, params)


@pytest.fixture(scope="module")
def trained(stage: Stage) -> Callable[[str], str]:
    """Train an arm, unless it was; give its cell."""

    @cache
    def trained(arm: str) -> str:
        train.main(stage, f"nano-hi-{arm}")
        return f"nano-hi-{arm}"

    return trained


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_trains(stage: Stage, trained: Callable[[str], str], arm: str) -> None:
    trained(arm)
    rows = read_lines(stage.runs / f"nano-hi-{arm}" / "train" / "metrics.jsonl")
    assert rows[-1]["step"] == (2 if arm == "answers" else 4)
    if arm in ("answers", "traces", "rule"):  # nothing is rewarded
        assert not {name for row in rows for name in row if "reward" in name or name == "kl"}
        assert all(row["loss"] > 0 and row["length_mean"] > 1 for row in rows[1:])
    if arm == "random":  # a coin for each of four responses
        paid = {row["reward_mean"] for row in rows[1:]}
        assert paid <= {0.0, 0.25, 0.5, 0.75, 1.0}


def test_training_rows_hold_what_is_imitated(stage: Stage) -> None:
    folder = stage.data / "combos" / "hi"
    for row in read_dataset(folder / "train.parquet"):
        assert set(row.example.meta["imitated"]) == {"answers", "traces", "rule"}
    assert all(
        "imitated" not in r.example.meta for r in read_dataset(folder / "validation.parquet")
    )


def test_a_cell_without_thoughts_answers_without_them(
    stage: Stage, trained: Callable[[str], str]
) -> None:
    shown = {}
    for arm in ("grpo", "blunt"):
        key = trained(arm)
        evaluate.main(Stage("evaluate", stage.root, stage.params), key)
        path = stage.runs / key / "evaluate" / "responses.parquet"
        answered = pd.read_parquet(path)
        shown[arm] = answered[answered["task"].isin(stage.params.suite.tasks)]
    assert shown["blunt"]["response"].str.startswith("</think>").all()
    assert not shown["grpo"]["response"].str.startswith("</think>").all()
    assert (shown["blunt"]["prompt_digest"] != shown["grpo"]["prompt_digest"]).all()


def test_rows_without_a_response_are_left_out_and_counted(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = stage.params.trained_cell("nano-hi-traces")
    tokenizer = AutoTokenizer.from_pretrained(PROJECT / "models" / "nano-0" / "model")
    read = read_dataset(stage.data / "combos" / "hi" / "train.parquet")
    del read[1].example.meta["imitated"]["traces"]
    prompts = {each.example.id: each.prompt for each in read}
    for split in ("train", "validation"):
        write_dataset(
            tmp_path / f"{split}.parquet",
            [each.example for each in read],
            lambda example: prompts[example.id],
            split,
        )
    found = CellRows.load(tmp_path, tokenizer, cell)
    assert len(found.train.rows) == len(found.read.rows) - 1
    assert found.train.skipped == found.read.skipped + 1
    say_left_out("nano-hi-traces", found, cell)
    said = capsys.readouterr().out
    assert f"left out 1 of {len(found.read.rows)} training prompts, for which there are no" in said

    grpo = stage.params.trained_cell("nano-hi-grpo")
    found = CellRows.load(tmp_path, tokenizer, grpo)
    assert found.train == found.read
    say_left_out("nano-hi-grpo", found, grpo)
    assert "left out" not in capsys.readouterr().out


def test_what_is_given_of_a_response_belongs_to_the_prompt(
    stage: Stage,
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(PROJECT / "models" / "nano-0" / "model")
    (first, *_) = read_dataset(stage.data / "combos" / "hi" / "train.parquet")
    first.example.meta["given"] = {"traces": " ann thinks"}
    asked = TokenisedRows((TokenisedRow((1,), first.example),), 0)
    (plain,) = imitable(asked, "answers", tokenizer).rows
    assert plain.prompt == (1,)
    (begun,) = imitable(asked, "traces", tokenizer).rows
    assert begun.prompt[0] == 1 and tokenizer.decode(begun.prompt[1:]) == " ann thinks"
    assert begun.given == len(begun.prompt) - 1


def test_nothing_to_imitate(stage: Stage) -> None:
    tokenizer = AutoTokenizer.from_pretrained(PROJECT / "models" / "nano-0" / "model")
    (first, *_) = read_dataset(stage.data / "combos" / "hi" / "train.parquet")
    del first.example.meta["imitated"]["traces"]
    with pytest.raises(UserError, match="no training row holds traces to imitate"):
        imitable(TokenisedRows((TokenisedRow((1,), first.example),), 0), "traces", tokenizer)
