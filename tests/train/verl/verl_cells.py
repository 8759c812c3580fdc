"""Cells for tests of the verl backend."""

from __future__ import annotations

from typing import Any

from pipeline.config.evaluation import Evaluate, SideCheck
from pipeline.config.params import Cell
from pipeline.config.training import Algorithm, Train
from pipeline.train.memory import Shape
from pipeline.train.verl.overrides import JobPaths

PATHS = JobPaths(
    train="a folder/train.parquet",
    validation="a folder/validation.parquet",
    model="/store/model",
    tokenizer="/state/tokenizer",
    reward="pipeline/reward/verl_entry.py",
    checkpoints="/state/checkpoints",
    validation_dump="/state/validation",
)
TINY = Shape(64, 256, 2, 2, 2, 512, True)
BASE: dict[str, Any] = {
    "backend": "verl",
    "reward": "rlvr",
    "prompts_per_step": 8,
    "rollouts": 4,
    "steps": 5,
    "learning_rate": 1e-6,
    "max_prompt_tokens": 64,
    "max_new_tokens": 16,
    "validate_every": 2,
    "save_every": 2,
}


def recipe(**changes: Any) -> Train:
    """Return a training recipe."""
    return Train(**{**BASE, **changes})


def cell(algorithm: Algorithm = "grpo", seed: int = 7, **changes: Any) -> Cell:
    """Return a trained cell."""
    return Cell(
        kind="trained",
        model="nano",
        title="nano",
        combination="hi",
        algorithm=algorithm,
        seed=seed,
        base="runs/t/base/nano/checkpoints.json",
        inputs="data/t/combos/hi",
        train=recipe(**changes),
        evaluate=Evaluate(prompt="compact", max_new_tokens=8),
        gsm8k=SideCheck(task="gsm8k", prompt="boxed", max_new_tokens=8),
    )
