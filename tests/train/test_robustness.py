"""The trainer refuses what cannot be learned from, stops when asked, and raises its alarms once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedModel

from pipeline.base.errors import UserError
from pipeline.config.algorithms import AlgorithmName, with_defaults
from pipeline.reward.reward import Earned, Reward
from pipeline.tasks import registry
from pipeline.tasks.grading import Grade
from pipeline.train import local, rollout, scoring, update
from pipeline.train.collapse import find_collapse
from pipeline.train.contract import History
from pipeline.train.footprint import plan
from pipeline.train.local import LocalTrainer
from pipeline.train.shape import Shape
from pipeline.train.stopping import Interrupted
from tests.train import tiny


def patched_scores(monkeypatch: pytest.MonkeyPatch, score: float) -> None:
    given = Reward(Earned(0.0, score), tiny.WRONG)
    monkeypatch.setattr(rollout, "safe_reward", lambda *_, **__: given)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, score: float
) -> None:
    patched_scores(monkeypatch, score)
    run = tiny.trainer(tmp_path)
    with pytest.raises(UserError, match="step 1: a reward is not a finite number") as caught:
        run.run()
    saved = json.loads((tmp_path / "refused-step-000001.json").read_text())
    assert saved["step"] == 1 and len(saved["rows"]) == 2
    assert all(row["id"] in str(caught.value) for row in saved["rows"])
    assert saved["rows"][0]["completions"][0]["reward"] == str(score)


def test_a_loss_that_is_no_number_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scoring.fixed_logprobs
    monkeypatch.setattr(update, "fixed_logprobs", lambda *of: real(*of) * float("nan"))
    run = tiny.trainer(tmp_path, tiny.changed(kl_coefficient=0.1))
    before = tiny.digest(run)
    with pytest.raises(UserError, match=r"step 1: the loss is nan, on the prompts"):
        run.run()
    assert (tmp_path / "refused-step-000001.json").is_file()
    run.history = History()
    assert tiny.digest(run) == before


@pytest.mark.parametrize(
    ("algorithm", "kl", "held"), [("grpo", 0.001, 1), ("grpo", 0.0, 0), ("sft", 0.001, 0)]
)
def test_a_reference_model_is_held_where_a_penalty_asks_it(
    algorithm: AlgorithmName, kl: float, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast: list[PreTrainedModel] = []
    monkeypatch.setattr(local, "cast_linear", lambda model, _: cast.append(model))
    recipe = tiny.changed(kl_coefficient=kl)
    tiny.trainer(tmp_path, recipe, algorithm).run()
    assert len(cast) == held
    shape = Shape(16, 64, 1, 1, 1, 320, True)
    assert (plan(shape, recipe, with_defaults(algorithm)).reference > 0) == bool(held)


def test_a_response_that_breaks_the_grader_is_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, graded = registry.Task.grade, [0]

    def grade(*arguments: Any) -> Grade:
        graded[0] += 1
        if graded[0] == breaking:
            raise RecursionError("too deep")
        return real(*arguments)

    monkeypatch.setattr(registry.Task, "grade", grade)
    breaking = 4 + 2  # after the validation of step 0, the second response of step 1
    run = tiny.trainer(tmp_path, tiny.changed(steps=1))
    row = run.run().steps[1].metrics
    assert row["reward_errors"] == 1 and "validation_accuracy" in row


@pytest.mark.parametrize("part", ["train", "validation"])
def test_no_data_is_refused(tmp_path: Path, part: str) -> None:
    run = tiny.trainer(tmp_path)
    setattr(run, part, [])
    with pytest.raises(UserError, match="there are no (training|validation) prompts"):
        run.run()


def test_a_tokenizer_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    run = tiny.trainer(tmp_path)
    run.policy.config.vocab_size = 8
    with pytest.raises(UserError, match="do not belong together"):
        run.run()


def test_prompts_longer_than_the_context_are_refused(tmp_path: Path) -> None:
    run = tiny.trainer(tmp_path, tiny.changed(max_new_tokens=62))
    with pytest.raises(UserError, match="the model reads only 64"):
        run.run()


class Stopper:
    """Asks to stop at a forward pass, and again at every later one."""

    def __init__(self, at: int) -> None:
        self.at, self.passes = at, 0

    def __call__(self) -> bool:
        self.passes += 1
        return self.passes >= self.at


def test_a_stop_inside_a_step_or_a_validation_costs_nothing(tmp_path: Path) -> None:
    whole = tiny.trainer(tmp_path / "whole", tiny.changed(steps=3))
    counter = Stopper(10**9)
    whole.should_stop = counter
    whole.run()
    for at in range(2, counter.passes, 5):
        work = tmp_path / str(at)
        run = tiny.trainer(work, tiny.changed(steps=3))
        run.should_stop = Stopper(at)
        with pytest.raises(Interrupted):
            run.run()
        resumed = tiny.trainer(work, tiny.changed(steps=3))
        resumed.run()
        assert tiny.digest(resumed) == tiny.digest(whole), at


def test_a_long_step_is_left_within_seconds(tmp_path: Path) -> None:
    run = tiny.trainer(tmp_path, tiny.changed(max_new_tokens=60, validate_every=100))
    run.policy.base_model.register_forward_pre_hook(lambda *_: time.sleep(0.2))  # 12 s a rollout
    run.validation = run.validation[:1]
    asked = time.monotonic()
    run.should_stop = lambda: time.monotonic() > asked + 1
    with pytest.raises(Interrupted, match="after step 0"):
        run.run()
    assert time.monotonic() - asked < 5


@pytest.mark.parametrize(
    ("patience", "saved"), [(60, 3), (0, 2)], ids=["the step may end", "it takes too long"]
)
def test_a_stop_inside_the_updates_costs_one_step_at_most(
    patience: float, saved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.train import stopping

    monkeypatch.setattr(stopping, "PATIENCE_SECONDS", patience)
    recipe = tiny.changed(steps=4, updates_per_batch=2, validate_every=4, save_every=2)
    whole = tiny.trainer(tmp_path / "whole", recipe)
    whole.run()
    run, asked = tiny.trainer(tmp_path / "stopped", recipe), []

    def should_stop() -> bool:
        if run._stopping.changing and len(run.history.steps) == 3:  # steps 0 to 2 are done
            asked.append(True)
        return bool(asked)

    run.should_stop = should_stop
    with pytest.raises(Interrupted, match=f"after step {saved} of 4"):
        run.run()
    resumed = tiny.trainer(tmp_path / "stopped", recipe)
    resumed.run()
    assert tiny.digest(resumed) == tiny.digest(whole)


def curve(lengths: list[float], accuracy: list[float]) -> list[dict[str, float]]:
    return [
        {"step": step, "length_median": length, "accuracy": right}
        for step, (length, right) in enumerate(zip(lengths, accuracy, strict=True), 1)
    ]


def test_a_collapse_needs_short_responses_and_a_better_policy() -> None:
    up, down = [0.2] * 8 + [0.8] * 12, [0.8] * 8 + [0.2] * 12
    short, long = [40] * 8 + [10] * 12, [40] * 20
    found = find_collapse(curve(short, up))
    assert found is not None and found.step == 12 and found.length < 20
    assert find_collapse(curve(short, down)) is None
    assert find_collapse(curve(long, up)) is None
    assert find_collapse(curve(short, up)[:9]) is None
    assert find_collapse(curve(short, up)[:12]) == found
    assert find_collapse(curve(short, up)[:11]) is None


@pytest.mark.parametrize("stop", [11, 12], ids=["in the validation of its step", "later"])
def test_the_collapse_alarm_fires_once(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.train import local

    real = local.step_metrics

    def collapsing(*arguments: object) -> dict[str, object]:
        step = len(run.history.steps)
        short = step > 6
        return real(*arguments) | {"length_median": 5 if short else 50, "accuracy": float(short)}  # type: ignore[arg-type]

    monkeypatch.setattr(local, "step_metrics", collapsing)
    alarms: list[int] = []

    def note(history: History) -> None:
        if history.alarm is not None:
            alarms.append(history.alarm.step)

    def start() -> LocalTrainer:
        made = tiny.trainer(tmp_path, tiny.changed(steps=14))
        made.report = note
        return made

    run = start()
    run.should_stop = lambda: len(run.history.steps) == stop
    with pytest.raises(Interrupted):
        run.run()
    run = start()
    result = run.run()
    assert alarms == [10]
    assert result.collapse is not None and result.collapse.step == 10


def test_timing_says_where_the_time_and_memory_went(tmp_path: Path) -> None:
    row = tiny.trainer(tmp_path, tiny.changed(steps=2)).run().steps[2].timing
    parts = ("rollout_seconds", "reward_seconds", "update_seconds")
    assert sum(row[part] for part in parts) == pytest.approx(row["seconds"], abs=0.01)
    assert row["peak_memory_bytes"] > 10**7 and row["tokens_per_second"] > 0
    assert row["validation_seconds"] > 0
