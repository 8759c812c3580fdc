"""Cells that verl trains with LoRA, killed once: what is stored is whole; rejection sampling."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.distributed.tensor import DTensor  # noqa: F401 - what shards are made of

from pipeline.formats.files import read_json, read_lines
from pipeline.model.weights import load_model
from pipeline.ops.driver.checkout import use_study
from tests.conftest import edited, ended_well, expand
from tests.engines.conftest import (
    GRPO,
    SFT,
    SFT_STEPS,
    STEPS,
    Start,
    own_checkout,
    saved_steps,
)
from tests.engines.test_training import kill_job

pytestmark = pytest.mark.chain
RANK, ALPHA, LAST = 4, 8, 3


def trained_through_a_kill(
    study: Path, start: Start, folder: Path, cell: str, **recipe: object
) -> tuple[Path, str, int]:
    """Train a cell with LoRA in a checkout of its own, whose job is killed once."""
    checkout = own_checkout(study, folder / "checkout")
    with edited(checkout / "params.yaml") as content:
        content["cells"][cell]["train"] = {
            "lora": {"rank": RANK, "alpha": ALPHA},
            "learning_rate": 0.01,
            **recipe,
        }
    expand(checkout)
    command = start(checkout, "dvc", "repro", "--single-item", f"train@{cell}")
    # Of RL the first, which verl has yet to validate; of imitation one after which one is logged.
    command.wait_until(lambda: (1 if cell == GRPO else 2) in saved_steps(checkout))
    _assert_formats(checkout, recipe.get("precision", "float32"))
    step = kill_job(command, checkout)
    return checkout, command.output, step


@pytest.fixture(scope="module")
def trained(
    study: Path, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, int]:
    """The checkout whose cell was trained, what was printed, and the step it was killed after."""
    recipe = {"steps": LAST, "precision": "bfloat16"}
    return trained_through_a_kill(study, start, tmp_path_factory.mktemp("lora"), GRPO, **recipe)


@pytest.fixture(scope="module")
def imitated(
    study: Path, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, int]:
    """A checkout whose imitating cell was trained, likewise."""
    recipe = {"precision": "bfloat16"}
    return trained_through_a_kill(study, start, tmp_path_factory.mktemp("lora"), SFT, **recipe)


def test_the_stored_model_is_the_base_with_adapters_added_up(
    trained: tuple[Path, str, int],
) -> None:
    checkout, shown, _ = trained
    _assert_adapted(checkout, GRPO, LAST, shown)


@pytest.mark.nightly
def test_adapters_imitate(imitated: tuple[Path, str, int]) -> None:
    checkout, shown, step = imitated
    _assert_adapted(checkout, SFT, SFT_STEPS, shown)
    assert "cluster: attempt 1 failed: killed (exit status" in shown
    assert f"goes on after step {step - 1}" in shown or f"goes on after step {step}" in shown
    rows = read_lines(checkout / "runs/mini" / SFT / "train/metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(SFT_STEPS + 1))
    assert rows[-1]["loss"] < rows[1]["loss"]


def _assert_formats(checkout: Path, precision: object) -> None:
    """Adapters are trained in float32, beside weights in the format of the forward pass."""
    found = "work/*/attempts/*/checkpoints/global_step_1/**/model_world_size_2_rank_0.pt"
    (shard,) = checkout.glob(found)
    weights = torch.load(shard, map_location="cpu", weights_only=True, mmap=True)
    adapters = {tensor.dtype for name, tensor in weights.items() if ".lora_" in name}
    others = {tensor.dtype for name, tensor in weights.items() if ".lora_" not in name}
    assert (adapters, others) == ({torch.float32}, {getattr(torch, str(precision))})


def _assert_adapted(checkout: Path, cell: str, step: int, shown: str) -> None:
    """The last weights are the base model's, changed by products of a rank where adapters are."""
    runs, weights = checkout / "runs/mini", checkout / "weights/mini" / cell
    base = read_json(runs / "base/nano/checkpoints.json")["checkpoints"]["base"]["digest"]
    last = read_json(runs / cell / "train/checkpoints.json")["checkpoints"]["last"]
    assert last["step"] == step and "log-probabilities within" in shown
    before = load_file(checkout / "weights/mini/base/nano" / base / "model.safetensors")
    after = load_file(weights / last["digest"] / "model.safetensors")
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        change = tensor.float() - before[name].to(tensor.dtype).float()
        adapted = name.endswith("proj.weight")
        assert bool(change.any()) == adapted, name
        if adapted:  # but for rounding
            parts = torch.linalg.svdvals(change)
            assert parts[RANK] < (0.1 if tensor.dtype == torch.bfloat16 else 1e-3) * parts[0]
    model, _ = load_model(weights / last["digest"])
    assert model.config.num_hidden_layers == 3


def test_a_killed_job_goes_on(
    trained: tuple[Path, str, int],
) -> None:
    checkout, shown, step = trained
    assert f"goes on after step {step} of" in shown, "also where that was not logged"
    rows = read_lines(checkout / "runs/mini" / GRPO / "train/metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(LAST + 1))
    for row in rows[1:]:
        assert 0 <= row["validation_accuracy"] <= 1
        assert row["gradient_norm"] >= 0


@pytest.mark.nightly
def test_right_completions_alone_are_imitated(checkout: Path) -> None:
    with edited(checkout / "studies/mini.yaml") as content:
        content["grid"]["arms"]["grpo"] = {"algorithm": "rft", "learning_rate": 0.01}
        content["train"]["reward"] = "random"
    use_study(checkout, "mini")
    expand(checkout)
    ended_well(checkout, "python", "-m", "pipeline.stages.train", GRPO)
    rows = read_lines(checkout / "runs/mini" / GRPO / "train/metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(STEPS + 1))
    assert any(row["kept"] for row in rows[1:])
    for row in rows[1:]:
        assert (row["kept"] > 0) == (row["gradient_norm"] > 0) == (row["loss"] != 0)
        assert "kl" not in row
