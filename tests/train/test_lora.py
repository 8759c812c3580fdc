"""LoRA: what peft computes, on a model that stays whole; resumable to the bit."""

from __future__ import annotations

import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from pipeline.config.algorithms import with_defaults
from pipeline.config.training import Lora
from pipeline.engine.device import cast_linear
from pipeline.model.weights import load_model, save_model, weights_of
from pipeline.train.footprint import plan
from pipeline.train.learner import Learner
from pipeline.train.lora import LoraLearner, adapted
from pipeline.train.shape import Shape
from tests.train import tiny
from tests.train.test_update import ragged

LORA = Lora(rank=4, alpha=8)
RECIPE = tiny.changed(lora=LORA)


def learner(
    rate: float = 1e-2, seed: int = 0, held: str = "float32"
) -> tuple[LoraLearner, PreTrainedModel]:
    """A tiny model with adapters, and its frozen copy; its weights lose nothing in bfloat16."""
    model, _ = tiny.base()
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    base = copy.deepcopy(model).requires_grad_(False)
    cast_linear(base, held)
    return LoraLearner.with_adapters(model, base, LORA, rate, seed), base


def size(tensor: torch.Tensor) -> int:
    """Its bytes."""
    return tensor.numel() * tensor.element_size()


def improved(
    steps: int = 2, held: str = "float32", **settings: Any
) -> tuple[LoraLearner, PreTrainedModel]:
    recipe = tiny.changed(lora=LORA, kl_coefficient=0.05, **settings)
    policy, base = learner(held=held)
    if recipe.gradient_checkpointing:
        policy.model.gradient_checkpointing_enable()
    policy.model.train()
    for _ in range(steps):
        tiny.improve(policy, base, None, ragged(), recipe, "grpo")
    return policy, base


def with_peft(policy: LoraLearner, base: PreTrainedModel) -> Any:
    """Peft's model with the same base and adapters."""
    peft = import_module("peft")
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    twin = peft.get_peft_model(copy.deepcopy(base), config)
    names = dict(twin.named_parameters())
    with torch.no_grad():
        for name, tensor in policy.weights().items():
            names[f"base_model.model.{name.replace('.weight', '.default.weight')}"].copy_(tensor)
    return twin


@pytest.mark.verl
def test_gradients_steps_and_merged_weights_are_those_of_peft() -> None:
    policy, base = improved()
    twin = with_peft(policy, base)
    trained = [p for p in twin.parameters() if p.requires_grad]
    assert len(trained) == len(policy.trained) == 2 * 7
    theirs = Learner(twin, Learner.optimizer_of(trained, 1e-2))
    ours = LoraLearner(policy.model, Learner.optimizer_of(policy.trained, 1e-2), policy.adapters)
    ids = torch.tensor([[5, 9, 7, 30, 12, 8]])
    norms = []
    for each in (ours, theirs):
        each.model(input_ids=ids, labels=ids).loss.backward()
        norms.append(each.step(0.5))
    assert norms[0] == pytest.approx(norms[1], rel=1e-5) and norms[0] > 0.5  # it was clipped
    merged = weights_of(twin.merge_and_unload())
    for name, tensor in weights_of(policy.model).items():
        torch.testing.assert_close(tensor, merged[name], atol=1e-6, rtol=1e-6)


def test_only_the_adapted_layers_move_and_by_no_more_than_the_rank() -> None:
    policy, base = improved()
    layers = {f"{name}.weight" for name, _ in adapted(policy.model)}
    before, after = weights_of(base), weights_of(policy.model)
    for name, tensor in after.items():
        change = tensor - before[name]
        assert bool(change.any()) == (name in layers)
        if name in layers:
            assert int(torch.linalg.matrix_rank(change, rtol=1e-4)) <= LORA.rank
    assert not any(name.startswith("lm_head") for name in layers)


def test_before_the_first_step_it_is_the_base_model() -> None:
    policy, base = learner()
    before = weights_of(base)
    assert all(torch.equal(t, before[name]) for name, t in weights_of(policy.model).items())
    policy.set_weights(policy.weights())
    assert all(torch.equal(t, before[name]) for name, t in weights_of(policy.model).items())


@pytest.mark.verl
def test_the_seed_draws_the_first_values_as_peft_does() -> None:
    (one, _), (same, _), (other, base) = learner(), learner(), learner(seed=1)
    pairs = zip(one.trained, same.trained, strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(one.trained[0], other.trained[0])
    twin = with_peft(other, base)
    layer = next(m for m in twin.modules() if hasattr(m, "reset_lora_parameters"))
    layer.reset_lora_parameters("default", True)
    bound = layer.in_features**-0.5
    for drawn in (layer.lora_A["default"].weight, other.adapters[0].down):
        assert 0.8 * bound < drawn.abs().max().item() <= bound
    assert not layer.lora_B["default"].weight.any() and not other.adapters[0].up.any()


@pytest.mark.parametrize(
    "settings", [{"gradient_checkpointing": True}, {"groups_per_micro_batch": 4}]
)
def test_how_the_work_is_cut_changes_rounding_only(settings: dict[str, Any]) -> None:
    whole, _ = improved()
    parts, _ = improved(**settings)
    for one, other in zip(whole.trained, parts.trained, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_frozen_weights_in_bfloat16_lose_nothing_that_the_forward_pass_has() -> None:
    """Adapters, their optimiser and what is stored are as with base weights in float32."""
    recipe = {"precision": "bfloat16", "groups_per_micro_batch": 1}
    policy, base = improved(8, "bfloat16", **recipe)
    same, _ = improved(8, **recipe)
    exact, _ = improved(8)
    for adapter in policy.adapters:
        assert adapter.weight.dtype == adapter.base.dtype == torch.bfloat16
        assert adapter.weight.grad is None
    states = policy.optimizer.state.values()
    assert {state["exp_avg"].dtype for state in states} == {torch.float32}
    before = weights_of(base)
    stored, expected, wanted = policy.stored(), same.stored(), exact.stored()
    for name in (f"{layer}.weight" for layer, _ in adapted(policy.model)):
        torch.testing.assert_close(stored[name], expected[name], atol=1e-6, rtol=1e-5)
        change = wanted[name] - before[name].float()
        assert (stored[name] - wanted[name]).norm() < 0.1 * change.norm(), name


def test_what_is_stored_is_a_whole_model(tmp_path: Path) -> None:
    run = tiny.trainer(tmp_path / "work", RECIPE)
    run.run()
    save_model(tmp_path / "model", run.policy, run.tokenizer, run.best_weights())
    model, _ = load_model(tmp_path / "model")
    best = run.best_weights()
    assert all(torch.equal(t, best[name]) for name, t in weights_of(model).items())


def test_the_memory_plan_counts_the_adapters() -> None:
    policy, _ = learner()
    shape = Shape.of(policy.model.config.to_dict())
    adapters = sum(p.numel() for p in policy.trained)
    assert shape.adapters(LORA.rank) == adapters
    layers = sum(layer.weight.numel() for _, layer in adapted(policy.model))
    assert sum(inputs * outputs for inputs, outputs in shape.linear) == layers
    found = plan(shape, RECIPE, with_defaults("grpo"))
    assert found.optimiser == 4 * 2 * adapters
    assert found.gradients == 4 * (layers + adapters)
    assert found.parameters == 4 * (shape.parameters + adapters)
    frozen = plan(shape, tiny.changed(lora=LORA, precision="bfloat16"), with_defaults("grpo"))
    half, base = learner(held="bfloat16")
    assert frozen.gradients == 2 * layers + 4 * adapters
    assert frozen.parameters == 4 * adapters + sum(map(size, half.model.parameters()))
    assert frozen.reference == pytest.approx(sum(map(size, base.parameters())), rel=0.01)  # biases
