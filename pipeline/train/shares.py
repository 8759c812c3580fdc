"""Share of an accelerator for a run of the local trainer."""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Train
from pipeline.train.accelerators import GIB, MEMORY, capacity
from pipeline.train.footprint import plan
from pipeline.train.shape import Shape

_CONTEXT = GIB  # of CUDA, for each process
_MOST = 8  # runs beside one another: they share its time, too


def share_of(shape: Shape, recipe: Train, algorithm: Algorithm) -> float:
    """The share of an accelerator that a run takes by its plan: 1, 1/2, ... 1/8.

    ``cluster.accelerator`` (``auto``: 80 GB) and ``cluster.memory`` of the recipe give its size.

    Raises:
        UserError: If it does not fit on one.
    """
    asked = recipe.cluster.accelerator
    name = asked if asked in MEMORY else "a100-80"
    peak = plan(shape, recipe, algorithm, on_gpu=True).peak + _CONTEXT
    room = capacity(name, recipe.cluster.memory)
    fitting = room // peak
    if fitting == 0:
        raise UserError(
            f"train.backend: local takes one accelerator and about {peak / GIB:.1f} GiB of it, "
            f"{name} has {room / GIB:g}. Lower train.tokens_per_micro_batch or "
            "train.prompts_per_step, train with train.lora, or set train.backend: verl"
        )
    return 1 / min(fitting, _MOST)
