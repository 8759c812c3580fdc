"""Whether kept rollouts are what a training sampled and was paid for."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.data.codec import read_dataset
from pipeline.judge.alarm import leans
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.train.kept_rollouts import TABLE, rows_of


def check_kept(train: Path, data: Path, steps: int, each: int, group: int) -> pd.DataFrame:
    """Check that so many rollouts of each step are kept, and earn again what they earned.

    Args:
        train: What the stage ``train`` left.
        data: The training set.
        each: Rollouts of a step that are to be there, of whole groups.
        group: Completions of a prompt.
    """
    table, examples = pd.read_parquet(train / TABLE), read_dataset(data)
    by_id = {row.example.id: row.example for row in examples}
    assert table["step"].tolist() == [n for n in range(1, steps + 1) for _ in range(each)]
    for start in range(0, len(table), group):
        assert table["id"].iloc[start : start + group].nunique() == 1
    for row in table.itertuples():
        reward = safe_reward(load_preset("rlvr"), row.response, by_id[row.id])
        assert (reward.right, reward.score) == (row.right, row.reward)
    assert any(list(leans(rows_of(some), by_id)) for _, some in table.groupby("step"))
    assert table["response"].nunique() > 1
    assert (table["tokens"] > 0).all()
    return table
