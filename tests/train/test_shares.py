"""What part of an accelerator a run of the local trainer takes."""

from __future__ import annotations

import pytest

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Grpo
from pipeline.config.training import Cluster, Lora, Train
from pipeline.train.accelerators import GIB, MEMORY
from pipeline.train.footprint import plan
from pipeline.train.shape import Shape
from pipeline.train.shapes import QWEN25
from pipeline.train.shares import share_of

NANO = Shape(64, 256, 3, 2, 2, 551, True)


def recipe(**settings: object) -> Train:
    given = {
        "max_prompt_tokens": 1024,
        "max_new_tokens": 512,
        "prompts_per_step": 8,
        "rollouts": 8,
        "learning_rate": 1e-6,
        "steps": 1,
        "validate_every": 1,
        "save_every": 1,
        "reward": "tom-rl-strict",
    }
    return Train(**{**given, **settings})  # type: ignore[arg-type]


def test_small_runs_share_an_accelerator() -> None:
    assert share_of(NANO, recipe(), Grpo()) == 1 / 8


@pytest.mark.parametrize("accelerator", MEMORY)
def test_all_that_share_one_fit_together(accelerator: str) -> None:
    asked = recipe(
        cluster=Cluster(accelerator=accelerator),  # type: ignore[arg-type]
        precision="bfloat16",
        tokens_per_micro_batch=4096,
    )
    share = share_of(QWEN25["0.5B"], asked, Grpo())
    peak = plan(QWEN25["0.5B"], asked, Grpo(), on_gpu=True).peak
    assert peak / share <= MEMORY[accelerator] * GIB
    assert (1 / share).is_integer()


def test_what_does_not_fit_on_one_says_what_would() -> None:
    tight = recipe(cluster=Cluster(accelerator="h100", memory=20.0))
    with pytest.raises(UserError, match="h100 has 20. Lower"):
        share_of(QWEN25["1.5B"], tight, Grpo())
    with pytest.raises(UserError, match=r"one accelerator and about \d+\.\d GiB.*a100-80 has 79.2"):
        share_of(QWEN25["7B"], recipe(), Grpo())
    lora = recipe(
        lora=Lora(), precision="bfloat16", tokens_per_micro_batch=2048, gradient_checkpointing=True
    )
    assert share_of(QWEN25["3B"], lora, Grpo()) == pytest.approx(1 / 3)
