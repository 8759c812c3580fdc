"""The stage ``train`` keeps some rollouts of every step."""

from __future__ import annotations

from pathlib import Path

from pipeline.train.kept_rollouts import kept
from tests.stages.small import small_study, trained
from tests.train.regraded import check_kept


def test_a_stage_keeps_what_was_sampled_and_paid_for(tmp_path: Path) -> None:
    study = small_study(tmp_path / "study")
    stage, curve = trained(tmp_path / "root", study)
    group = study["train"]["rollouts"]
    folder, data = stage.runs / "nano-hi" / "train", stage.data / "combos/hi/train.parquet"
    table = check_kept(folder, data, len(curve) - 1, kept(30, group), group)
    for row in curve[1:]:
        rows = table[table["step"] == row["step"]]
        assert rows["reward"].max() >= row["reward_mean"] >= rows["reward"].min()
