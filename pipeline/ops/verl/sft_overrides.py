"""A cell that imitates, as settings of verl 0.9.1 (Hydra overrides of its ``sft_trainer_engine``).

Of :class:`pipeline.config.training.Train` an imitating cell reads less than others, with either
backend: nothing of rollouts, advantages and the KL penalty. verl's trainer for imitation measures
a loss alone, so that nothing is validated here. What is left is mapped or, where verl has one form
only, refused.

Left at verl's own defaults, which are the local trainer's: AdamW with weight decay 0.01 and betas
(0.9, 0.999), a constant learning rate without warm-up, the loss a mean over all taught tokens of
the batch.
"""

from __future__ import annotations

from pipeline.config.algorithms import Sft
from pipeline.config.params import TrainedCell
from pipeline.config.training import Train
from pipeline.ops.verl.attention import attention, packs
from pipeline.ops.verl.overrides import (
    JobPaths,
    Overrides,
    optimizer,
    planned,
    sharding,
    trainer_settings,
)
from pipeline.ops.verl.placement import Placement
from pipeline.ops.verl.recipe_overrides import check_recipe, lora_settings


def sft_overrides(
    cell: TrainedCell, placement: Placement, paths: JobPaths, rows: int, flash: bool = True
) -> Overrides:
    """The settings with which verl trains a cell by imitation.

    Args:
        cell: A trained cell whose algorithm imitates.
        placement: Where it trains.
        paths: Where the job's files lie.
        rows: Training prompts within ``max_prompt_tokens`` that have a response to imitate.
        flash: Whether FlashAttention is installed where it trains.

    Raises:
        UserError: If the cell asks for something that verl cannot do.
    """
    recipe = cell.train
    assert isinstance(cell.algorithm, Sft)
    check_recipe(recipe, cell.algorithm)
    return {
        **_data(cell, recipe, placement, paths),
        **_model(paths),
        **lora_settings(recipe, "model", "engine"),
        **attention("model", packed=packs(recipe, flash=flash)),
        **_engine(cell, recipe, placement),
        **_trainer(recipe, placement, paths, rows),
        **recipe.cluster.overrides,
    }


def _data(cell: TrainedCell, recipe: Train, placement: Placement, paths: JobPaths) -> Overrides:
    assert isinstance(cell.algorithm, Sft)
    module = "pipeline.ops.verl.sft_data"
    return {
        "data.train_files": paths.train,
        # The loss on a batch of these is what a merged checkpoint is verified with.
        "data.val_files": paths.train,
        "data.val_max_samples": recipe.prompts_per_step,
        "data.train_batch_size": recipe.prompts_per_step,
        "data.micro_batch_size_per_gpu": placement.micro_batch,
        # By sequences: those that are taught may be longer than any that is sampled.
        "data.use_dynamic_bsz": False,
        "data.custom_cls.path": f"pkg://{module}",
        "data.custom_cls.name": "Lessons",
        "+data.imitates": cell.algorithm.imitates,
        "+data.max_prompt_length": recipe.max_prompt_tokens,
        "+data.think": recipe.think,
        "+data.seed": cell.seed,
    }


def _model(paths: JobPaths) -> Overrides:
    return {
        "model.path": paths.model,
        "model.enable_gradient_checkpointing": True,
        "model.use_fused_kernels": True,
    }


def _engine(cell: TrainedCell, recipe: Train, placement: Placement) -> Overrides:
    return {
        "optim.lr": recipe.learning_rate,
        "optim.clip_grad": recipe.gradient_clip,
        **optimizer("optim"),
        "engine.strategy": "fsdp2",  # whose checkpoints the job can merge
        **sharding("engine", cell, recipe, placement),
    }


def _trainer(recipe: Train, placement: Placement, paths: JobPaths, rows: int) -> Overrides:
    _, passes = planned(recipe, rows)
    own: Overrides = {
        # verl takes the data of a run that goes on from the end of a pass for a pass without any.
        "trainer.total_epochs": passes + 1,
        "trainer.save_freq": recipe.save_every,
        "trainer.test_freq": recipe.save_every,
    }
    return trainer_settings(recipe, placement, paths, rows, own)
