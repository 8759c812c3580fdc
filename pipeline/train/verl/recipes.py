"""The recipes that the papers published, and how a cell differs from them.

Where a paper is silent and its code is public, the code speaks; where the code is silent, the
defaults of the verl it was written for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.config.params import TrainedCell
from pipeline.config.training import Train
from pipeline.train.verl.placement import Placement

_PAPER_1 = "arXiv 2504.01698"
_CODE_1 = "github.com/bigai-ai/ToM-RL, tom_grpo.sh at 6290f60"
_VERL_1 = f"verl's default, not set in {_CODE_1}"
_PAPER_2 = "arXiv 2507.15788"

HARDWARE, OFFLOAD, TENSOR_PARALLEL = "hardware", "offload", "tensor_parallel"
MICRO_BATCH, ALGORITHM = "micro_batch_per_accelerator", "algorithm"


@dataclass(frozen=True)
class Published:
    """A value that a paper or its code states, and where."""

    value: object
    source: str


@dataclass(frozen=True)
class Difference:
    """Something that a cell does otherwise than its paper."""

    name: str
    published: object
    here: object
    source: str


RECIPES: dict[str, dict[str, Published]] = {
    _PAPER_1: {
        ALGORITHM: Published("grpo", _PAPER_1),
        "reward": Published("tom-rl", "github.com/bigai-ai/ToM-RL, the reward as coded"),
        "prompts_per_step": Published(8, _PAPER_1),
        "rollouts": Published(16, _PAPER_1),
        "updates_per_batch": Published(1, _PAPER_1),
        "epochs": Published(2, _PAPER_1),
        "learning_rate": Published(5e-7, _PAPER_1),
        "normalise_by_std": Published(True, _VERL_1),
        "clip_range": Published(0.2, _PAPER_1),
        "aggregation": Published("token-mean", _VERL_1),
        "kl_coefficient": Published(0.001, _PAPER_1),
        "kl_kind": Published("low_var_kl", _PAPER_1),
        "kl_in_reward": Published(False, _CODE_1),
        "entropy_coefficient": Published(0.001, _PAPER_1),
        "gradient_clip": Published(1.0, _PAPER_1),
        "temperature": Published(1.0, _PAPER_1),
        "top_p": Published(1.0, _PAPER_1),
        "max_prompt_tokens": Published(1024, _PAPER_1),
        "max_new_tokens": Published(2048, _PAPER_1),
        "validate_every": Published(10, _CODE_1),
        "save_every": Published(50, _CODE_1),
        "precision": Published("bfloat16", _VERL_1),
        "gradient_checkpointing": Published(True, _CODE_1),
        HARDWARE: Published("4 x a100-80", "github.com/bigai-ai/ToM-RL, README"),
        OFFLOAD: Published(True, _CODE_1),
        TENSOR_PARALLEL: Published(1, _CODE_1),
        MICRO_BATCH: Published(4, f"{_CODE_1}: 16 on 4"),
    },
    _PAPER_2: {
        ALGORITHM: Published("reinforce_plus_plus", _PAPER_2),
        "reward": Published("rlvr", _PAPER_2),
        "prompts_per_step": Published(8, _PAPER_2),
        "rollouts": Published(8, _PAPER_2),
        "epochs": Published(10, _PAPER_2),
        "learning_rate": Published(5e-7, _PAPER_2),
        "temperature": Published(0.6, _PAPER_2),
        "checkpoint": Published("best", _PAPER_2),
    },
}
"""Recipes by the paper's number, from the name of a setting to what is published."""

# What each backend does in its own way, or what decides nothing about the result.
_OWN = {
    *("backend", "cluster", "device", "groups_per_micro_batch", "tokens_per_micro_batch"),
    *("value_learning_rate", "value_clip", "discount", "gae_decay"),
    *("steps", "early_stop_patience", "gradient_checkpointing"),
}


def recipes_of(paper: str | None) -> dict[str, dict[str, Published]]:
    """Return the recipes of the papers that a study names."""
    return {name: recipe for name, recipe in RECIPES.items() if name in (paper or "")}


def differences(
    cell: TrainedCell, placement: Placement, recipe: Mapping[str, Published]
) -> list[Difference]:
    """Return everything that a cell does otherwise than a recipe."""
    here = _settings(cell, placement)
    return [
        Difference(name, published.value, here.get(name), published.source)
        for name, published in recipe.items()
        if here.get(name) != published.value
    ]


def unstated(cell: TrainedCell, recipe: Mapping[str, Published]) -> dict[str, object]:
    """Return the settings of a cell on which a recipe is silent."""
    return {
        name: value
        for name, value in _parameters(cell).items()
        if name not in recipe and name not in _OWN
    }


def _parameters(cell: TrainedCell) -> dict[str, object]:
    """Return the recipe of a cell and its algorithm's own settings, side by side."""
    own = {name: getattr(cell.algorithm, name) for name in cell.algorithm.own_settings()}
    recipe = {name: getattr(cell.train, name) for name in Train.model_fields}
    return recipe | own | {"reward": cell.train.reward.preset}


def _settings(cell: TrainedCell, placement: Placement) -> dict[str, object]:
    return {
        **_parameters(cell),
        ALGORITHM: cell.algorithm.name,
        "gradient_checkpointing": placement.gradient_checkpointing,
        HARDWARE: placement.describe(),
        OFFLOAD: placement.offload,
        TENSOR_PARALLEL: placement.tensor_parallel,
        MICRO_BATCH: placement.micro_batch,
    }


def notes(cell: TrainedCell, *, probed: bool) -> list[str]:
    """Return what verl does otherwise than the local trainer with the same cell.

    Args:
        cell: A trained cell.
        probed: Whether the cell's data has a probe.
    """
    recipe = cell.train
    found = [
        "order of the data: drawn by verl from the same seed, so that batches differ; prompts of a "
        "pass that do not fill a batch are left out of it",
    ]
    if recipe.save_every != recipe.validate_every:
        found.append(
            f"save_every: saves at each validation, every {recipe.validate_every} steps, not every "
            f"{recipe.save_every}: the best step must have been saved"
        )
    if cell.algorithm.critic:
        found.append("critic: its head starts at random values, not at 0")
    if probed:
        found.append("dataset.probe: not measured; only validation is")
    return found
