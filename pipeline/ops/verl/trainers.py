"""verl's trainers: which of them a cell's algorithm takes, and how each is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.config.algorithms import Algorithm, Sft
from pipeline.config.params import TrainedCell
from pipeline.ops.verl.overrides import JobPaths, Overrides, verl_overrides
from pipeline.ops.verl.placement import Placement
from pipeline.ops.verl.sft_overrides import sft_overrides


@dataclass(frozen=True)
class Trainer:
    """One of verl's trainers.

    Attributes:
        module: What runs it.
        config: Name of its configuration, in ``verl.trainer.config``.
        models: Its sections that each describe a model; a critic's is one more.
        overrides: From a cell, its placement, paths and number of rows, and whether FlashAttention
            is installed, to settings.
    """

    module: str
    config: str
    models: tuple[str, ...]
    overrides: Callable[[TrainedCell, Placement, JobPaths, int, bool], Overrides]


RL = Trainer("verl.trainer.main_ppo", "ppo_trainer", ("actor_rollout_ref.model",), verl_overrides)
IMITATION = Trainer("verl.trainer.sft_trainer_ray", "sft_trainer_engine", ("model",), sft_overrides)


def trainer_of(algorithm: Algorithm) -> Trainer:
    return IMITATION if isinstance(algorithm, Sft) else RL
