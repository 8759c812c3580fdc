"""What the papers' own runs did about memory, and how the plan of a cell differs from it.

All else that they state stands in the records beside the studies, see
:mod:`pipeline.config.published`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.params import TrainedCell
from pipeline.ops.verl.budgets import save_interval
from pipeline.ops.verl.placement import Placement

_PAPER_1 = "arXiv 2504.01698"
_CODE_1 = "github.com/bigai-ai/ToM-RL, tom_grpo.sh at 6290f60"

HARDWARE, OFFLOAD, TENSOR_PARALLEL = "hardware", "offload", "tensor_parallel"
MICRO_BATCH, CHECKPOINTING = "micro_batch_per_accelerator", "gradient_checkpointing"


@dataclass(frozen=True)
class PublishedRecipe:
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


MEMORY: dict[str, dict[str, PublishedRecipe]] = {
    _PAPER_1: {
        CHECKPOINTING: PublishedRecipe(True, _CODE_1),
        HARDWARE: PublishedRecipe("4 x a100-80", "github.com/bigai-ai/ToM-RL, README"),
        OFFLOAD: PublishedRecipe(True, _CODE_1),
        TENSOR_PARALLEL: PublishedRecipe(1, _CODE_1),
        MICRO_BATCH: PublishedRecipe(4, f"{_CODE_1}: 16 on 4"),
    },
}
"""What is published, by the paper's number; it decides nothing about the result."""


def memory_differences(paper: str | None, placement: Placement) -> dict[str, list[Difference]]:
    """What a plan does otherwise than the papers that a study names, by paper."""
    here = _placed(placement)
    return {
        name: [
            Difference(what, published.value, here[what], published.source)
            for what, published in memory.items()
            if here[what] != published.value
        ]
        for name, memory in MEMORY.items()
        if name in (paper or "")
    }


def _placed(placement: Placement) -> dict[str, object]:
    return {
        CHECKPOINTING: placement.gradient_checkpointing,
        HARDWARE: placement.describe(),
        OFFLOAD: placement.offload,
        TENSOR_PARALLEL: placement.tensor_parallel,
        MICRO_BATCH: placement.micro_batch,
    }


def notes(cell: TrainedCell) -> list[str]:
    """What verl does otherwise than the local trainer with the same cell."""
    recipe = cell.train
    found = [
        "order of the data: drawn by verl from the same seed, so that batches differ; prompts of a "
        "pass that do not fill a batch are left out of it",
    ]
    if (interval := save_interval(recipe)) != recipe.save_every:
        found.append(
            f"save_every: saves every {interval} steps, not every {recipe.save_every}: a step is "
            f"saved where it is validated"
        )
    if interval != recipe.validate_every:
        found.append(
            f"checkpoint: the best is that of the saved steps, every {interval}, not of all "
            f"validated ones, every {recipe.validate_every}"
        )
    if cell.algorithm.critic:
        found.append("critic: its head starts at random values, not at 0")
    if recipe.lora:
        found.append(
            "lora: first values are drawn by peft; what samples gets weights rounded to bfloat16"
        )
    if recipe.dynamic_sampling:
        found.append(
            "dynamic_sampling: draws two prompts for each that was left out, and takes the last "
            "draw as it is"
        )
    return found
