"""verl's log rows become the local trainer's metrics."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from pipeline.engine.decode import Completion
from pipeline.formats.files import AppendedLines
from pipeline.ops.verl.collect import (
    step_row,
    validation_accuracy,
    validation_answered,
)
from pipeline.ops.verl.journal import LoggedStep, StepJournal
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.reward.verl_entry import compute_score
from pipeline.tasks.example import Example
from pipeline.train.contract import Step
from pipeline.train.data import TokenisedRow
from pipeline.train.local import step_metrics
from pipeline.train.metrics import batch_metrics, exceptional_metrics
from pipeline.train.rollout import Rollouts
from pipeline.train.update import UpdateStatistics

# A row of verl 0.9.1's file logger, shortened.
LOGGED = {
    "tomrl/reward_mean": 0.25,
    "tomrl/length_median": 8.0,
    "actor/entropy": 5.7,
    "actor/pg_clipfrac": 0.0,
    "actor/pg_loss": 7.8e-08,
    "actor/kl_loss": 0.025,
    "actor/loss": 2.5e-05,
    "actor/grad_norm": 2.6,
    "actor/lr": 0.001,
    "val-core/hi_tom/acc/mean@1": 0.5,
    "val-core/gsm8k/acc/mean@1": 0.0,
    "val-aux/hi_tom/reward/mean@1": 0.3,
    "val-aux/hi_tom/answered/mean@1": 0.9,
    "val-aux/gsm8k/answered/mean@1": 0.1,
    "critic/rewards/mean": 0.25,
    "timing_s/gen": 2.0,
    "timing_s/old_log_prob": 0.1,
    "timing_s/update_actor": 0.2,
    "timing_s/step": 2.7,
    "timing_s/testing": 2.0,
    "perf/throughput": 209.6,
    "actor/perf/max_memory_allocated_gb": 1.0,
    "perf/mfu/actor": 0.25,
    "training/rollout_probs_diff_mean": 0.002,
    "training/rollout_probs_diff_max": 0.5,
    "training/rollout_actor_probs_pearson_corr": float("nan"),
    "rollout_corr/kl": 0.001,
}
VALIDATION = {"hi_tom": 30, "gsm8k": 10}


def test_a_row_is_renamed_and_timing_stands_apart() -> None:
    row = step_row(2, LOGGED, VALIDATION, at=5.0)
    assert row.metrics == {
        "reward_mean": 0.25,
        "length_median": 8.0,
        "loss": 2.5e-05,
        "kl": 0.025,
        "entropy": 5.7,
        "clip_share": 0.0,
        "gradient_norm": 2.6,
        "learning_rate": 0.001,
        "validation_accuracy": 0.375,
        "rollout_probs_diff_mean": 0.002,
        "rollout_probs_diff_max": 0.5,
        "rollout_kl": 0.001,
    }
    assert row.timing == {
        "seconds": 2.7,
        "rollout_seconds": 2.0,
        "validation_seconds": 2.0,
        "tokens_per_second": 209.6,
        "update_seconds": pytest.approx(0.3),
        "peak_memory_bytes": 2**30,
        "old_log_prob_seconds": 0.1,
        "actor_seconds": 0.2,
        "mfu": 0.25,
    }
    assert (row.step, row.at) == (2, 5.0)


def test_a_penalty_in_the_reward_is_the_kl_too() -> None:
    logged = {"actor/reward_kl_penalty": 0.5}
    assert step_row(1, logged, VALIDATION, at=0.0).metrics["kl"] == 0.5


def test_the_validation_accuracy_counts_prompts_not_tasks() -> None:
    assert validation_accuracy(LOGGED, VALIDATION) == (30 * 0.5 + 10 * 0.0) / 40
    assert validation_accuracy({"actor/lr": 1.0}, VALIDATION) is None
    with pytest.raises(KeyError):
        validation_accuracy({"val-core/hi_tom/acc/mean@1": 0.5}, VALIDATION)


def test_answers_are_counted_right_or_wrong() -> None:
    assert validation_answered(LOGGED, VALIDATION) == 27 + 1


@pytest.mark.parametrize("preset", ["rlvr", "tom-rl", "fidelity"])
def test_a_batch_has_the_local_trainers_metrics(preset: str) -> None:
    random = Random(3)
    story = "1 Ann entered the hall.\n2 The pear is in the red_box.\n3 Ann exited the hall."
    rows = tuple(
        TokenisedRow(
            (1, 2), Example("hi_tom", "hi_tom", story, "Where is the pear?", "red_box", id=f"a{i}")
        )
        for i in range(3)
    )
    texts = tuple(
        random.choice(
            (
                "Ann thinks the pear is in the red_box.</think><answer> red_box</answer>",
                "Ann thinks the pear is in the blue_box.</think><answer> blue_box</answer>",
                "red_box",
            )
        )
        for _ in range(12)
    )
    completions = tuple(
        Completion(tuple(range(random.randrange(1, 9))), random.random() < 0.5) for _ in texts
    )
    rewards = tuple(
        safe_reward(load_preset(preset), text, rows[i // 4].example) for i, text in enumerate(texts)
    )
    rollouts = Rollouts(rows, completions, texts, rewards)
    nothing = UpdateStatistics(0, 0, 0, 0, 0, 0)
    local = step_metrics(rollouts, nothing)
    scores = [each.score for each in rewards]
    info = {
        **{"id": "a0", "benchmark": "hi_tom", "story_id": "s", "story": story},
        **{"question": "Where is the pear?", "question_type": "", "answer_kind": "span"},
        **{"order": None, "choices": None, "meta": "{}"},
    }
    info_of = [compute_score("hi_tom", text, "red_box", info, preset=preset) for text in texts]
    found = batch_metrics(
        groups=[scores[i : i + 4] for i in range(0, 12, 4)],
        responses=[[c.tokens for c in completions[i : i + 4]] for i in range(0, 12, 4)],
        lengths=[len(c.tokens) for c in completions],
        finished=[c.finished for c in completions],
        rewards=info_of,
    ) | exceptional_metrics(info_of)
    expected = {name: value for name, value in local.items() if name not in nothing.metrics()}
    assert found == expected


def made(step: int, at: float) -> Step:
    return Step(step=step, metrics={"reward_errors": 2, "loss": float("nan")}, timing={}, at=at)


def test_the_journal_survives_a_kill(tmp_path: Path) -> None:
    journal = StepJournal(tmp_path / "steps.jsonl")
    for step in range(4):
        journal.add(made(step, step / 4))
    with journal.path.open("a") as file:
        file.write('{"step": 4, "metr')
    again = StepJournal(journal.path)
    assert repr(again.history) == repr(journal.history)  # NaN is unlike itself
    again.keep_until(2)
    again.add(made(3, 9.0))
    assert [each.step for each in StepJournal(journal.path).history.steps] == [0, 1, 2, 3]
    assert StepJournal(journal.path).history.last.at == 9.0


def test_a_follower_waits_for_whole_lines(tmp_path: Path) -> None:
    log = AppendedLines(tmp_path / "log.jsonl")
    assert list(log.new()) == []
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(json.dumps({"step": 0, "data": {}}) + '\n{"st')
        file.flush()
        assert [each["step"] for each in log.new()] == [0]
        assert list(log.new()) == []
        file.write('ep": 1, "data": {"loss": 1.5, "note": "x"}}\n')
        file.flush()
    assert [LoggedStep(**each).figures for each in log.new()] == [{"loss": 1.5}]
