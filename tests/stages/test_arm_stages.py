"""Cells that differ in how they are trained, from the study file to their answers."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.data.codec import read_dataset
from pipeline.errors import UserError
from pipeline.files import read_lines
from pipeline.stages import base, evaluate, suite, train
from pipeline.stages.common import Stage
from pipeline.stages.training import given_responses
from pipeline.train.data import Row, Rows
from tests.conftest import edited, shrink
from tests.stages.made import make_data

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
    make_data(root, params)
    suite.main(Stage("suite", root, params))
    base.main(Stage("base", root, params), "nano")
    return Stage("train", root, params)


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_trains(stage: Stage, arm: str) -> None:
    train.main(stage, f"nano-hi-{arm}")
    rows = read_lines(stage.runs / f"nano-hi-{arm}" / "train" / "metrics.jsonl")
    assert rows[-1]["step"] == (2 if arm == "answers" else 4)
    paid = {row["reward_mean"] for row in rows[1:]}
    if arm in ("answers", "traces"):  # what is imitated is right, and in form
        assert [round(reward, 6) for reward in paid] == [1.1]
    if arm == "random":  # a coin for each of four responses
        assert paid <= {0.0, 0.25, 0.5, 0.75, 1.0}


def test_training_rows_hold_what_is_imitated(stage: Stage) -> None:
    folder = stage.data / "combos" / "hi"
    for row in read_dataset(folder / "train.parquet"):
        assert set(row.example.meta["imitated"]) == {"answers", "traces", "rule"}
    assert all(
        "imitated" not in r.example.meta for r in read_dataset(folder / "validation.parquet")
    )


def test_a_cell_without_thoughts_answers_without_them(stage: Stage) -> None:
    shown = {}
    for arm in ("grpo", "blunt"):
        key = f"nano-hi-{arm}"
        train.main(stage, key)
        evaluate.main(Stage("evaluate", stage.root, stage.params), key)
        path = stage.runs / key / "evaluate" / "responses.parquet"
        shown[arm] = pd.read_parquet(path)
    assert shown["blunt"]["response"].str.startswith("</think>").all()
    assert not shown["grpo"]["response"].str.startswith("</think>").all()
    assert (shown["blunt"]["prompt_digest"] != shown["grpo"]["prompt_digest"]).all()


def test_rows_without_a_response_are_left_out_and_counted(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = read_dataset(stage.data / "combos" / "hi" / "train.parquet")
    del second.example.meta["imitated"]["traces"]
    rows = Rows((Row((1,), first.example), Row((1,), second.example)), skipped=3)
    algorithm = stage.params.trained_cell("nano-hi-traces").algorithm
    kept = given_responses("nano-hi-traces", rows, algorithm)
    assert (len(kept.rows), kept.skipped) == (1, 4)
    assert "left out 1 of 2 training prompts, for which there are no traces" in (
        capsys.readouterr().out
    )
    with pytest.raises(UserError, match="no training row holds traces to imitate"):
        given_responses("nano-hi-traces", Rows((rows.rows[1],), 0), algorithm)
    assert given_responses("k", rows, stage.params.trained_cell("nano-hi-grpo").algorithm) == rows
