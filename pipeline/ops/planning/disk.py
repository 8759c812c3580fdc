"""Bytes that a cell leaves behind, and those it needs while it trains."""

from __future__ import annotations

from pipeline.config.training import Train
from pipeline.ops.verl.memory import frozen
from pipeline.train.shape import Shape

_STATE = 12
"""Bytes for each trained weight of a checkpoint to resume from: it and two moments in float32."""
_KEPT_BY_VERL = 4
"""Checkpoints at once: the best, the newest two, and the one that is being written."""
_KEPT_BY_LOCAL = 2
"""The newest, and the one that is being written."""
_PER_TOKEN = 4
"""Characters, and so bytes, of a token of a response."""
_OF_A_GRADE = 200
"""Bytes of a response's other columns and of its grade."""


def state(shape: Shape, recipe: Train, *, critic: bool) -> int:
    """The bytes of the state that a finished run leaves, for a longer one to go on from."""
    if recipe.backend != "local" or recipe.learning_rate_schedule != "constant":
        return 0
    return checkpoint(shape, recipe, critic=critic) + 4 * shape.parameters


def while_training(shape: Shape, recipe: Train, *, critic: bool) -> int:
    """The bytes of the checkpoints that are there at once while a cell trains."""
    count = _KEPT_BY_VERL if recipe.backend == "verl" else _KEPT_BY_LOCAL
    return checkpoint(shape, recipe, critic=critic) * count


def checkpoint(shape: Shape, recipe: Train, *, critic: bool) -> int:
    """The bytes of a checkpoint; verl's has the weights beside adapters, too."""
    learned = shape.adapters(recipe.lora.rank) if recipe.lora else shape.parameters
    beside = frozen(recipe) * shape.parameters if recipe.lora and recipe.backend == "verl" else 0
    return (learned + (shape.trunk if critic else 0)) * _STATE + beside


def weights(shape: Shape, recipe: Train, models: int = 2) -> int:
    """The bytes of so many models: the best and the last, or the best and those that are kept.

    What verl trained is kept in the format of its forward pass, the local trainer's in float32.
    """
    size = 4 if recipe.backend == "local" or recipe.precision == "float32" else 2
    return models * size * shape.parameters


def responses(questions: int, answer_tokens: int) -> int:
    return questions * (answer_tokens * _PER_TOKEN + _OF_A_GRADE)
