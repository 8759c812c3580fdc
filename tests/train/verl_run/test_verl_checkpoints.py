"""verl's sharded checkpoints: merged, verified, resumed from."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.multiprocessing.spawn import spawn

from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.config.models import TinySize
from pipeline.formats.files import read_json, write_json
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import WEIGHTS, load_model, save_model, weights_of
from pipeline.ops.cluster.job import SAVED
from pipeline.ops.planning.disk import weights
from pipeline.ops.verl.checkpoints import (
    best_saved,
    check_ranks,
    export,
    logprobs,
    merge,
    prepare_resume,
    thin,
    unlogged,
    verify,
    whole_steps,
)
from pipeline.ops.verl.job import VerlAttempt
from pipeline.ops.verl.journal import StepJournal
from pipeline.ops.verl.layout import PROBE, UNLOGGED, State
from pipeline.train.contract import History, Step
from pipeline.train.shape import Shape
from tests.train.verl.verl_cells import recipe

RANKS = 2
SEQUENCES = [{"prompt": [5, 6, 7], "response": [8, 9]}, {"prompt": [9], "response": [5, 4, 2]}]


def whole(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Weights that two processes cannot share evenly."""
    generator = torch.Generator().manual_seed(0)
    shapes = {"even": (4, 3), "odd": (5, 2), "vector": (3,), "one": (1,)}
    return {n: torch.randn(s, generator=generator).to(dtype) for n, s in shapes.items()}


def _save_shard(rank: int, actor: str, dtype: torch.dtype, port: int) -> None:
    """Save what FSDP2 would save on one rank."""
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    shards: dict[str, Any] = {
        name: distribute_tensor(tensor, mesh, [Shard(0)]) for name, tensor in whole(dtype).items()
    }
    shards["copied"] = distribute_tensor(torch.ones(2, dtype=dtype), mesh, [Replicate()])
    shards["buffer"] = torch.arange(3)
    torch.save(shards, Path(actor) / f"model_world_size_{RANKS}_rank_{rank}.pt")
    distributed.destroy_process_group()


def test_shards_become_the_whole_weights_in_their_own_precision(tmp_path: Path) -> None:
    """Those of a checkpoint that two processes wrote."""
    dtype, (port,) = torch.bfloat16, free_ports(1)
    spawn(_save_shard, (str(tmp_path), dtype, port), nprocs=RANKS)
    write_json(tmp_path / "fsdp_config.json", {"FSDP_version": 2, "world_size": RANKS})
    merged = merge(tmp_path)
    expected = {**whole(dtype), "copied": torch.ones(2, dtype=dtype), "buffer": torch.arange(3)}
    assert merged.keys() == expected.keys()
    for name, tensor in expected.items():
        assert merged[name].dtype == tensor.dtype
        assert torch.equal(merged[name], tensor), name


def test_plain_tensors_that_differ_are_refused(tmp_path: Path) -> None:
    for rank in range(2):
        torch.save(
            {"weight": torch.full((2,), rank)}, tmp_path / f"model_world_size_2_rank_{rank}.pt"
        )
    write_json(tmp_path / "fsdp_config.json", {"world_size": 2})
    with pytest.raises(UserError, match="weight is split without saying how"):
        merge(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> tuple[State, Path, Any]:
    """A state folder with one checkpoint's probe, the base model's folder, and the model."""
    tokenizer = make_tokenizer(["yes or no"], 300)
    found = make_model(TinySize(16, 1, 1), tokenizer, context=64, seed=0)
    save_model(tmp_path / "base", found, tokenizer)
    state = State(tmp_path / "state", "000001-a")
    write_json(state.checkpoints / PROBE, SEQUENCES)
    said = [logprobs(found, s["prompt"], s["response"]).tolist() for s in SEQUENCES]
    write_json(state.step(3) / PROBE, {"logprobs": said})
    return state, tmp_path / "base", found


def test_a_model_is_exported_as_the_local_trainer_does(model: tuple[State, Path, Any]) -> None:
    state, base, found = model
    weights = {**weights_of(found), "lm_head.weight": found.lm_head.weight.detach()}
    write_json(base / "generation_config.json", {"eos_token_id": [2, 0]})
    export(weights, base, state.root / "out")
    assert {p.name for p in (state.root / "out").iterdir()} == {p.name for p in base.iterdir()}
    said = [folder / "generation_config.json" for folder in (base, state.root / "out")]
    assert said[0].read_bytes() == said[1].read_bytes(), "both end at the same tokens"
    assert verify(state.root / "out", state, 3, "float32").largest == 0.0
    loaded, _ = load_model(state.root / "out")
    assert loaded.config.tie_word_embeddings


def test_other_weights_than_the_trainers_are_refused(model: tuple[State, Path, Any]) -> None:
    state, base, found = model
    weights = weights_of(found)
    weights["model.norm.weight"] += 0.01
    export(weights, base, state.root / "out")
    with pytest.raises(UserError, match=r"they differ by .*, allowed in float32: 0.0001"):
        verify(state.root / "out", state, 3, "float32")
    assert verify(state.root / "out", state, 3, "bfloat16").largest > 1e-4


def test_a_checkpoint_of_imitation_is_verified_by_its_loss(model: tuple[State, Path, Any]) -> None:
    state, base, found = model
    said = [logprobs(found, s["prompt"], s["response"]) for s in SEQUENCES]
    write_json(state.step(3) / PROBE, {"loss": -torch.cat(said).mean().item()})
    weights = weights_of(found)
    export(weights, base, state.root / "out")
    assert verify(state.root / "out", state, 3, "float32").largest < 1e-6
    weights["model.norm.weight"] += 0.1
    export(weights, base, state.root / "out")
    with pytest.raises(UserError, match=r"they differ by .*, allowed in float32: 0.0001"):
        verify(state.root / "out", state, 3, "float32")


@pytest.mark.parametrize("wrong", [False, True])
def test_the_first_checkpoint_is_tried_while_training_goes_on(
    wrong: bool, model: tuple[State, Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be stored must not train to its end."""
    state, base, found = model
    weights = weights_of(found)
    weights["model.norm.weight"] += float(wrong)
    torch.save(weights, state.step(3) / "model_world_size_1_rank_0.pt")
    write_json(state.step(3) / "fsdp_config.json", {"world_size": 1})
    attempt = VerlAttempt.__new__(VerlAttempt)
    attempt.state, attempt.base, attempt.recipe = state, base, recipe(precision="float32")
    attempt.total, attempt.tried = 9, False
    if wrong:
        with pytest.raises(UserError, match="give other log-probabilities than the trainer did"):
            attempt._try_first(3)
    else:
        attempt._try_first(3)
        assert "step 3 can be kept: log-probabilities within" in capsys.readouterr().out
    attempt._try_first(3)  # once is enough


def keeping(folder: Path, logged: int) -> Any:
    """An attempt of nine steps that keeps all that are saved, and has logged so many."""
    attempt = VerlAttempt.__new__(VerlAttempt)
    attempt.state, attempt.base, attempt.total = State(folder, "1-a"), folder, 9
    attempt.spec = SimpleNamespace(
        cell=SimpleNamespace(keeps=True), placement=SimpleNamespace(ranks=1)
    )
    attempt.state.folder.mkdir(parents=True)
    attempt.journal = StepJournal(attempt.state.steps)
    for step in range(logged):
        attempt.journal.add(Step(step=step, metrics={}, timing={}, at=0.0))
    return attempt


def test_saved_steps_are_kept_before_any_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job that looks rarely finds several steps saved; the next one is not logged yet."""
    attempt = keeping(tmp_path, logged=5)
    attempt.seen, attempt.tried = 1, False
    for step in range(1, 6):
        write_json(attempt.state.step(step) / PROBE, {"loss": 0.5})
    monkeypatch.setattr(attempt, "_keep", lambda _, step: f"kept {step}")
    attempt._look_at_saved()
    attempt._look_at_saved()
    assert read_json(attempt.state.kept) == {str(step): f"kept {step}" for step in (2, 3, 4)}
    assert capsys.readouterr().out.count(SAVED) == 3
    assert whole_steps(attempt.state) == [3, 4, 5]


def test_who_goes_on_keeps_what_was_saved_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while step 3 was kept, when step 4 was saved and not logged, and step 6 after it."""
    attempt = keeping(tmp_path, logged=4)
    for step in (2, 3, 4, 6):
        attempt.state.step(step).mkdir(parents=True)
        write_json(attempt.state.step(step) / UNLOGGED, {"tomrl/loss": 0.5})
        write_json(attempt.state.step(step) / "fsdp_config.json", {"world_size": 1})
        write_json(attempt.state.step(step) / PROBE, {"logprobs": []})
    write_json(attempt.state.kept, {2: "two"})
    monkeypatch.setattr(State, "check", lambda _: None)
    monkeypatch.setattr(attempt, "_keep", lambda _, step: f"kept {step}")
    assert attempt._resume() == 4 and whole_steps(attempt.state) == [2, 3, 4]
    assert read_json(attempt.state.kept) == {"2": "two", "3": "kept 3", "4": "kept 4"}
    assert attempt.unlogged == {"tomrl/loss": 0.5}


def test_a_probe_that_is_not_a_number_is_refused(model: tuple[State, Path, Any]) -> None:
    state, base, found = model
    write_json(state.step(3) / PROBE, {"logprobs": [[float("nan")] * 2, [float("nan")] * 3]})
    export(weights_of(found), base, state.root / "out")
    with pytest.raises(UserError, match="differ by nan"):
        verify(state.root / "out", state, 3, "float32")


def test_a_token_that_rounding_takes_far_is_stored_with_a_warning(
    model: tuple[State, Path, Any],
) -> None:
    """A run of twelve hours must not end with nothing because of its last bit."""
    state, base, found = model
    logged = read_json(state.step(3) / PROBE)
    logged["logprobs"][0][0] += 0.3
    write_json(state.step(3) / PROBE, logged)
    export(weights_of(found), base, state.root / "out")
    difference = verify(state.root / "out", state, 3, "bfloat16")
    assert difference.largest == pytest.approx(0.3, abs=1e-4)
    assert str(difference).startswith("warning: log-probabilities within 3.0e-01")
    logged["logprobs"] = [[each + 0.3 for each in row] for row in logged["logprobs"]]
    write_json(state.step(3) / PROBE, logged)
    with pytest.raises(UserError, match=r"in the mean they differ by .*bfloat16: 0.25"):
        verify(state.root / "out", state, 3, "bfloat16")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_is_stored_takes_the_bytes_that_are_planned(
    precision: str, tmp_path: Path, model: tuple[State, Path, Any]
) -> None:
    state, base, found = model
    actor = tmp_path / "actor"
    actor.mkdir()
    write_json(actor / "fsdp_config.json", {"world_size": 1})
    torch.save(weights_of(found), actor / "model_world_size_1_rank_0.pt")
    export(merge(actor, precision), base, state.root / "out")
    asked = recipe(precision=precision)
    shape = Shape.of(found.config.to_dict())
    stored = (state.root / "out" / WEIGHTS).stat().st_size
    header = 8 + int.from_bytes((state.root / "out" / WEIGHTS).read_bytes()[:8], "little")
    assert 2 * (stored - header) == weights(shape, asked)


def checkpoint(state: State, step: int, *, ranks: int = 2, is_whole: bool = True) -> None:
    write_json(state.step(step) / "actor" / "fsdp_config.json", {"world_size": ranks})
    if is_whole:
        write_json(state.step(step) / PROBE, {"logprobs": []})


def test_training_resumes_from_the_newest_whole_step_that_was_logged(tmp_path: Path) -> None:
    state = State(tmp_path, "000001-a")
    for step in (2, 4, 6):
        checkpoint(state, step)
    checkpoint(state, 8, is_whole=False)
    assert whole_steps(state) == [2, 4, 6]
    assert prepare_resume(state, range(5), ranks=2) == 4
    assert (state.checkpoints / "latest_checkpointed_iteration.txt").read_text() == "4"
    assert sorted(p.name for p in state.checkpoints.glob("global_step_*")) == [
        "global_step_2",
        "global_step_4",
    ]


def test_a_step_that_was_saved_and_not_logged_has_its_figures(tmp_path: Path) -> None:
    """Killed while it is validated, a run goes on from there; the last step must be validated."""
    state = State(tmp_path, "1-a")
    for step in (2, 4, 6):
        state.step(step).mkdir(parents=True)
        (state.step(step) / PROBE).write_text("{}")
        if step != 2:
            (state.step(step) / UNLOGGED).write_text('{"actor/loss": 0.5}')
    assert unlogged(state, {6}) == {4: {"actor/loss": 0.5}}
    assert unlogged(state, {2, 4, 6}) == {}


def test_without_a_usable_checkpoint_training_starts_anew(tmp_path: Path) -> None:
    state = State(tmp_path, "000001-a")
    checkpoint(state, 2, is_whole=False)
    (state.checkpoints / "latest_checkpointed_iteration.txt").write_text("2")
    assert prepare_resume(state, range(3), ranks=2) == 0
    assert list(state.checkpoints.iterdir()) == []


def test_another_number_of_processes_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    state = State(tmp_path / "work", "000001-a")
    checkpoint(state, 2, ranks=4)
    checkpoint(state, 3, ranks=4)
    with pytest.raises(UserError) as refused:
        prepare_resume(state, range(3), ranks=2)
    assert "was written by 4 processes and this job has 2" in str(refused.value)
    assert f"remove {tmp_path / 'work'} to start" in str(refused.value)
    assert whole_steps(state) == [2, 3]
    check_ranks(state.step(2), 4, tmp_path)


def test_only_what_may_still_be_needed_is_kept(tmp_path: Path) -> None:
    state = State(tmp_path, "000001-a")
    for step in (2, 4, 6, 8, 10):
        write_json(state.step(step) / PROBE, {"logprobs": []})
    (state.step(12) / "actor").mkdir(parents=True)  # still being written
    accuracies = {0: 0.9, 2: 0.3, 3: None, 4: 0.5, 5: 0.9, 6: 0.5, 8: 0.4}  # 5 was not saved
    steps = [
        Step(step=step, metrics={"validation_accuracy": value} if value else {}, timing={}, at=0)
        for step, value in accuracies.items()
    ]
    thin(state, History(steps=tuple(steps)))
    kept = sorted(int(folder.name.split("_")[-1]) for folder in state.checkpoints.iterdir())
    assert kept == [4, 6, 8, 10, 12]
    best = best_saved(state, History(steps=tuple(steps)))
    assert best is not None and best.step == 4
