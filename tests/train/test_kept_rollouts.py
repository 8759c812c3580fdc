"""Some rollouts of every step are kept, whatever happens to the run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.train.kept_rollouts import LINES, KeptRollout, RolloutLog, kept, write_rollouts
from tests.train import tiny


@pytest.mark.parametrize(
    ("prompts", "group", "found"),
    [(4, 4, 16), (16, 8, 64), (30, 6, 60), (64, 1, 64), (2, 512, 64), (1, 5, 5)],
)
def test_whole_groups_are_kept_up_to_a_number(prompts: int, group: int, found: int) -> None:
    assert kept(prompts, group) == found


def test_imitation_samples_nothing_to_keep(tmp_path: Path) -> None:
    run = tiny.trainer(tmp_path, algorithm="sft")
    run.run()
    write_rollouts(tmp_path, tmp_path / "table.parquet")
    assert pd.read_parquet(tmp_path / "table.parquet").empty


def test_a_run_that_lost_what_it_kept_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, lost = tiny.trainer(tmp_path / "whole"), tiny.trainer(tmp_path / "lost")
    whole.run()
    lost.should_stop = lambda: bool(lost.history.steps) and lost.history.last.step == 4
    with pytest.raises(KeyboardInterrupt):
        lost.run()
    log = tmp_path / "lost" / LINES
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:5]) + "{damaged\n" + "".join(lines[6:]))
    assert RolloutLog(tmp_path / "lost").last == 1
    again, steps = tiny.trainer(tmp_path / "lost"), list[int]()
    again.report = lambda history: steps.append(history.last.step)
    again.run()
    assert steps[0] == 0
    assert tiny.digest(again) == tiny.digest(whole)


def test_a_table_holds_what_any_text_can(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\n\r d"
    rollout = KeptRollout(
        step=1, id="x", tokens=3, finished=True, right=True, reward=1.0, response=text
    )
    RolloutLog(tmp_path).add([rollout, rollout])
    write_rollouts(tmp_path, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet").to_dict("records") == [rollout, rollout]
