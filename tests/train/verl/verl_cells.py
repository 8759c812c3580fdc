"""Cells for tests of the verl backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.algorithms import Algorithm, AlgorithmName, with_defaults
from pipeline.config.evaluation import Evaluate
from pipeline.config.params import TrainedCell
from pipeline.config.training import Train
from pipeline.ops.verl.overrides import JobPaths
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.spec import JobSpec
from pipeline.train.shape import Shape

PATHS = JobPaths(
    train="a folder/train.parquet",
    validation="a folder/validation.parquet",
    model="/store/model",
    tokenizer="/state/tokenizer",
    package="pipeline",
    checkpoints="/state/checkpoints",
    state="/state",
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
    """A training recipe."""
    return Train(**{**BASE, **changes})


def cell(
    algorithm: Algorithm | AlgorithmName = "grpo", seed: int = 7, **changes: Any
) -> TrainedCell:
    """A trained cell."""
    return TrainedCell(
        group="nano-hi",
        kind="trained",
        model="nano",
        title="nano",
        combination="hi",
        algorithm=with_defaults(algorithm) if isinstance(algorithm, str) else algorithm,
        seed=seed,
        base="runs/t/base/nano/checkpoints.json",
        inputs="data/t/combos/hi",
        train=recipe(**changes),
        evaluate=Evaluate(prompt="compact", max_new_tokens=8),
    )


def job_spec(chosen: TrainedCell, folder: Path, **changes: Any) -> JobSpec:
    """The description of a job of a cell that has its base model and its state in a folder."""
    settings: dict[str, Any] = {"rows": 20, "validation": {}, **changes}
    return JobSpec(
        key="nano-hi-grpo",
        cell=chosen,
        placement=place(TINY, chosen.train, chosen.algorithm, chosen.train.cluster),
        base="",
        made_by="base@nano",
        weights=str(folder / "weights"),
        state=str(folder / "state"),
        **settings,
    )
