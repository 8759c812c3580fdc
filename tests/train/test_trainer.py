"""The local trainer: resumable to the bit, honest about what it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from pipeline.config.algorithms import AlgorithmName
from pipeline.config.training import Lora, Train
from pipeline.engine.decode import Completion
from pipeline.model.weights import load_weights, weights_of
from pipeline.reward.presets import load_preset
from pipeline.train import checkpoint as checkpoints
from pipeline.train.checkpoint import Checkpoint
from pipeline.train.contract import History
from pipeline.train.data import batches
from pipeline.train.local import LocalTrainer
from pipeline.train.rollout import Judge
from pipeline.train.stopping import Interrupted
from tests.train import tiny

RECIPE = tiny.changed(entropy_coefficient=0.0)


def trainer(work: Path, recipe: Train = RECIPE, algorithm: AlgorithmName = "grpo") -> LocalTrainer:
    return tiny.trainer(work, recipe, algorithm)


def stopped_after(run: LocalTrainer, step: int) -> LocalTrainer:
    seen: list[int] = [0]
    run.report = lambda history: seen.append(history.last.step)
    run.should_stop = lambda: seen[-1] >= step
    return run


def outcome(run: LocalTrainer, history: History) -> tuple[str, dict[str, torch.Tensor]]:
    return json.dumps(history.rows()), weights_of(run.policy)


def run_and_stop(make: Callable[[Path], LocalTrainer], folder: Path, *stops: int) -> History:
    """Train, and again with a stop after each of some steps: all must end in the same bytes."""
    whole = make(folder / "whole")
    history = whole.run()
    metrics, weights = outcome(whole, history)
    for step in stops:
        work = folder / f"stopped {step}"
        with pytest.raises(Interrupted, match=f"after step {step} of {whole.recipe.steps}"):
            stopped_after(make(work), step).run()
        resumed = make(work)
        again, same = outcome(resumed, resumed.run())
        assert again == metrics
        assert all(torch.equal(weights[name], same[name]) for name in weights)
        assert resumed.best_weights().keys() == weights.keys()
    return history


@pytest.mark.parametrize("algorithm", ["grpo", "ppo", "sft", "rft"])
def test_a_stopped_run_ends_in_the_same_bytes(tmp_path: Path, algorithm: AlgorithmName) -> None:
    run_and_stop(partial(trainer, algorithm=algorithm), tmp_path, 1, 3, 5)


def test_so_does_one_with_adapters_and_a_critic(tmp_path: Path) -> None:
    recipe = tiny.changed(lora=Lora(rank=4, alpha=8))
    run_and_stop(partial(trainer, recipe=recipe, algorithm="ppo"), tmp_path, 3)


def test_a_damaged_checkpoint_is_passed_over(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = trainer(tmp_path / "whole")
    metrics, _ = outcome(whole, whole.run())
    work = tmp_path / "damaged"
    with pytest.raises(Interrupted):
        stopped_after(trainer(work), 5).run()
    newest = max((work / "state").glob("step-*"))
    tensors = newest / "tensors.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-7])
    resumed = trainer(work)
    again, _ = outcome(resumed, resumed.run())
    assert "damaged" in caplog.text and again == metrics


def test_a_damaged_best_checkpoint_is_made_again(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = trainer(tmp_path / "whole")
    metrics, weights = outcome(whole, whole.run())
    work = tmp_path / "damaged"
    run = trainer(work)
    run.run()
    (work / "best" / "step-000002" / "tensors.safetensors").write_bytes(b"")
    resumed = trainer(work)
    again, same = outcome(resumed, resumed.run())
    assert "best checkpoint of step 2 is damaged" in caplog.text
    assert again == metrics and all(torch.equal(same[name], weights[name]) for name in weights)


@pytest.mark.parametrize("digests", ["{}", "[]", "null", "{"])
def test_a_checkpoint_without_digests_is_damaged(tmp_path: Path, digests: str) -> None:
    for step in (1, 2):
        checkpoints.save(tmp_path, Checkpoint(step, {"x": torch.zeros(2)}, {}))
    (tmp_path / "step-000002" / "digests.json").write_text(digests)
    found = checkpoints.load_latest(tmp_path)
    assert found is not None and found.step == 1


def test_batches_use_every_row_once_an_epoch() -> None:
    data = tiny.rows(7)
    stream = batches(data, 3, seed=1)
    drawn = [row.prompt for _ in range(7) for row in next(stream)]
    assert sorted(drawn) == sorted(row.prompt for row in data * 3)
    again = batches(data, 3, seed=1)
    assert [row.prompt for _ in range(7) for row in next(again)] == drawn


def test_checkpoints_keep_the_newest_and_leave_no_leftovers(tmp_path: Path) -> None:
    for step in range(5):
        checkpoints.save(tmp_path, Checkpoint(step, {"x": torch.zeros(2)}, {"n": step}))
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["step-000003", "step-000004"]
    found = checkpoints.load_latest(tmp_path)
    assert found is not None and found.step == 4 and found.state == {"n": 4}
    assert checkpoints.load_latest(tmp_path / "nothing") is None


def test_weights_of_another_shape_are_refused() -> None:
    model, _ = tiny.base()
    weights = weights_of(model)
    weights.pop(next(iter(weights)))
    with pytest.raises(ValueError, match="missing"):
        load_weights(model, weights)


def test_an_empty_thought_is_part_of_what_is_rewarded() -> None:
    _, tokenizer = tiny.base()
    rows = tiny.rows(2)
    begun = tokenizer.encode("<answer> yes</answer>", add_special_tokens=False)
    completions = [Completion((*begun, 0), finished=True)] * 2
    with_thought = Judge(tokenizer, load_preset("rlvr"))(rows, completions)
    without = Judge(tokenizer, load_preset("rlvr"), think=False)(rows, completions)
    assert [r.score for r in with_thought.rewards] == [0.0] * 2
    assert [r.score for r in without.rewards] == [pytest.approx(1.1)] * 2
    assert set(without.texts) == {"</think><answer> yes</answer>"}
