"""Rejection sampling: what is right is imitated, what is not changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.engine.decode import Completion
from pipeline.model.weights import weights_of
from pipeline.reward.reward import Earned, Reward
from pipeline.train.rollout import Judge, Rollouts
from tests.train import tiny


def rewarded(*right: bool) -> tuple[Reward, ...]:
    return tuple(Reward(Earned(0.0, float(each)), tiny.WRONG, each) for each in right)


def test_the_right_ones_are_kept_with_their_prompts_and_alike_ones_once() -> None:
    one, other, cut = (Completion((tokens, 2), True) for tokens in (7, 8, 9))
    cut = Completion(cut.tokens, finished=False)
    completions = (one, one, other, other, one, cut)
    rollouts = Rollouts(
        tuple(tiny.rows(2)),
        completions,
        tuple("abcdef"),
        rewarded(True, True, False, False, True, True),
    )
    kept = rollouts.right()
    assert kept.completions == (one, one) and kept.texts == ("a", "e") and kept.group == 1
    assert kept.rows == rollouts.rows


def judged(monkeypatch: pytest.MonkeyPatch, *right: bool) -> None:
    """Have completions be right in turn, whatever they say."""

    def judge(self: Judge, rows: object, completions: list[Completion], draw: str = "") -> Rollouts:
        found = rewarded(*(right[place % len(right)] for place in range(len(completions))))
        ended = tuple(Completion(each.tokens, True) for each in completions)
        return Rollouts(tuple(rows), ended, ("",) * len(ended), found)  # type: ignore[arg-type]

    monkeypatch.setattr(Judge, "__call__", judge)


def test_what_is_right_becomes_likelier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny.changed(entropy_coefficient=0.0, learning_rate=0.01)
    run = tiny.trainer(tmp_path, recipe, "rft")
    judged(monkeypatch, True, False, True)
    rows = run.run().rows()[1:]
    assert all(1 <= row["kept"] <= 4 and row["reward_mean"] == pytest.approx(2 / 3) for row in rows)
    assert rows[-1]["loss"] < rows[0]["loss"] and "validation_accuracy" in rows[-1]


def test_without_a_right_one_nothing_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny.trainer(tmp_path, algorithm="rft")
    before = weights_of(run.policy)
    judged(monkeypatch, False)
    rows = run.run().rows()[1:]
    assert all(row["kept"] == 0 and "loss" not in row for row in rows)
    assert all(torch.equal(before[name], now) for name, now in weights_of(run.policy).items())


def test_a_learning_rate_falls_in_a_line(tmp_path: Path) -> None:
    recipe = tiny.changed(learning_rate_schedule="linear", learning_rate=0.006)
    rows = tiny.trainer(tmp_path, recipe, "sft").run().rows()[1:]
    rates = [row["learning_rate"] for row in rows]
    assert rates == pytest.approx([0.006, 0.005, 0.004, 0.003, 0.002, 0.001])
