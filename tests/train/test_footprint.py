"""The memory plan: exact where it can be, near the truth elsewhere, and a refusal with numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.config.algorithms import with_defaults
from pipeline.config.models import SIZES, HubModel, TinyModel, WarmStart
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.train.footprint import plan
from pipeline.train.shape import Shape
from pipeline.train.shapes import QWEN25, shape_of
from tests.train import tiny

WARM = WarmStart(steps=1, learning_rate=0.1, stories=1, vocabulary=512)


def test_parameters_are_counted_exactly() -> None:
    tokenizer = make_tokenizer(["a b"], 300)
    for name, size in SIZES.items():
        model = make_model(size, tokenizer, context=64, seed=0)
        of_config = Shape.of(model.config.to_dict())
        assert of_config.parameters == sum(p.numel() for p in model.parameters())
        of_study = shape_of(TinyModel(kind="tiny", title="a model", size=name, warm_start=WARM))
        assert replace(of_study, vocab_size=of_config.vocab_size) == of_config


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("0.5B", 0.494),
        ("1.5B", 1.544),
        ("3B", 3.086),
        ("7B", 7.616),
        ("14B", 14.77),
        ("32B", 32.76),
    ],
)
def test_the_published_sizes(name: str, billions: float) -> None:
    """The counts that the model cards give."""
    model = HubModel(kind="hub", title="a model", repository=f"Qwen/Qwen2.5-{name}-Instruct")
    assert shape_of(model).parameters / 1e9 == pytest.approx(billions, rel=1e-3)


def test_what_costs_more_says_so() -> None:
    shape = QWEN25["0.5B"]
    recipe = tiny.changed(
        prompts_per_step=8,
        rollouts=16,
        max_prompt_tokens=1024,
        max_new_tokens=256,
        groups_per_micro_batch=4,
    )
    usual = plan(shape, recipe, with_defaults("grpo"))
    assert usual.parameters == 4 * shape.parameters == usual.gradients == usual.reference
    assert usual.optimiser == 2 * usual.parameters and usual.critic == 0
    assert usual.cache == 8 * (1024 + 16 * 256) * 2 * 24 * 2 * 64 * 4
    assert (
        plan(shape, recipe, with_defaults("ppo")).peak
        > usual.peak
        > plan(shape, recipe, with_defaults("sft")).peak
    )
    for saving in (
        {"tokens_per_micro_batch": 6000},
        {"groups_per_micro_batch": 1},
        {"gradient_checkpointing": True},
    ):
        assert (
            plan(shape, recipe.model_copy(update=saving), with_defaults("grpo")).peak < usual.peak
        ), saving
    half = recipe.model_copy(update={"precision": "bfloat16"})
    on_gpu = plan(shape, recipe, with_defaults("grpo"), on_gpu=True)
    assert on_gpu.libraries == 0
    assert plan(shape, half, with_defaults("grpo"), on_gpu=True).activations < on_gpu.activations
    assert plan(shape, half, with_defaults("grpo")).activations == usual.activations


def test_what_hides_scores_is_counted() -> None:
    """Once for all layers on a GPU, in each layer for prompts that differ in length."""
    shape, grpo = QWEN25["0.5B"], with_defaults("grpo")
    lengths = {"max_prompt_tokens": 1024, "max_new_tokens": 2048, "precision": "bfloat16"}
    recipe = tiny.changed(rollouts=16, prompts_per_step=4, groups_per_micro_batch=2, **lengths)
    flat = replace(shape, num_hidden_layers=0)

    def hidden(of: Shape, **changes: Any) -> int:
        changed = recipe.model_copy(update=changes)
        return plan(of, changed, grpo, on_gpu=True).activations

    matrix = 2 * 2048 * (1024 + 2048)
    assert hidden(flat) == 2 * 2 * 16 * matrix
    assert hidden(flat, groups_per_micro_batch=1) == 2 * matrix
    each = replace(shape, num_hidden_layers=1)
    two, one = (
        hidden(each, groups_per_micro_batch=n) - hidden(flat, groups_per_micro_batch=n)
        for n in (2, 1)
    )
    assert two - 2 * one == 2 * 2 * 1024**2
    # All else grows with the tokens, and falls out here.
    short = {"max_prompt_tokens": 512, "max_new_tokens": 512}
    whole, third = (hidden(flat, gradient_checkpointing=True, **each) for each in ({}, short))
    assert whole - 3 * third == 2 * 16 * 3 * (3072**2 - 3 * 1024**2)


MEASURE = """
import copy, json, sys, torch
from dataclasses import replace
from transformers import Qwen2Config, Qwen2ForCausalLM
from pipeline.engine.sampling import Sampling
from pipeline.engine.recording import Recording
from pipeline.engine.linear import use_faster_linear
from pipeline.engine.device import peak_of_process
from pipeline.train.learner import Learner
from pipeline.reward.presets import load_preset
from pipeline.train.rollout import Judge, sample
from tests.train import tiny
torch.set_num_threads(1)
_, tokenizer = tiny.base()
config = Qwen2Config(vocab_size=2000, hidden_size=256, intermediate_size=1024, num_hidden_layers=6,
    num_attention_heads=8, num_key_value_heads=8, max_position_embeddings=512,
    tie_word_embeddings=True, pad_token_id=0)
model = Qwen2ForCausalLM(config)
use_faster_linear(model)
recipe = tiny.changed(**json.loads(sys.argv[1]))
if recipe.gradient_checkpointing:
    model.gradient_checkpointing_enable()
rows = [replace(row, prompt=(5,) * 200) for row in tiny.rows(recipe.prompts_per_step)]
reference = copy.deepcopy(model).requires_grad_(False)
learner = Learner.of(model, 1e-4)
sampling = Sampling(64)
model.eval()
completions = sample(model, tokenizer, rows, sampling, group=8, stream=(0,),
    precision=recipe.precision, recording=Recording())
rollouts = Judge(tokenizer, load_preset('rlvr'))(rows, completions)
model.train()
tiny.improve(learner, reference, None, rollouts, recipe, "grpo")
print(peak_of_process())
"""


LONGEST = {"rollouts": 8, "max_prompt_tokens": 200, "max_new_tokens": 64, "prompts_per_step": 2}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="plain"),
        pytest.param({"precision": "bfloat16"}, id="bfloat16", marks=pytest.mark.nightly),
        pytest.param({"gradient_checkpointing": True}, id="checkpointing"),
    ],
)
def test_the_plan_is_near_the_truth_and_not_below_it(
    project: Path, settings: dict[str, object]
) -> None:
    changes = {**LONGEST, **settings}
    shown = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps(changes)],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    shape = Shape(256, 1024, 6, 8, 8, 2000, True)
    measured, planned = (
        int(shown.stdout),
        plan(shape, tiny.changed(**changes), with_defaults("grpo")).peak,
    )
    assert measured < planned < 1.6 * measured, (measured, planned)


def ask(*arguments: str) -> str:
    result = CliRunner().invoke(
        app, ["plan", "--backend", "local", *arguments], env={"COLUMNS": "200"}
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_plan_knows_what_an_accelerator_holds(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    arguments = ("--study", "tom-rl", "--cell", "qwen25-05b-hi-exp", "--accelerator")
    said = ask(*arguments, "h100")
    for item in ("494,032,768 parameters", "optimiser", "reference", "cache", "peak", "on h100"):
        assert item in said
    assert "fits: 79.2 GiB" in said
    with pytest.raises(UserError, match=r"needs about \d+\.\d GiB, 23\.5 GiB are free"):
        ask(*arguments, "rtx-4090")
    assert "fits: 90.0 GiB" in ask(*arguments, "rtx-4090", "--memory", "90")
