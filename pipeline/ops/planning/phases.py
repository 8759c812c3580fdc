"""How long training takes by its phases, from what accelerators can do at most.

A second estimate beside that of :mod:`pipeline.ops.planning.hours`, which is solved from the time
that one paper states. Here prompts are read and weights updated at a share of the peak of
arithmetic, and tokens are written at a share of the peak of memory: for each token of an answer,
every accelerator reads all weights once, and the keys and values of the answers it writes. Each
accelerator writes its part of a step's answers at the same time, as verl's rollouts do where a
model fits on one. What lies between phases (weights that change places, sleeping engines, graders)
is not counted, so that a run takes longer.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.ops.planning.hours import Lengths, TrainingWork, update_operations
from pipeline.train.shape import Shape

BANDWIDTH: dict[str, float] = {
    "l4": 0.300e12,
    "rtx-4090": 1.008e12,
    "a100-40": 1.555e12,
    "a100-80": 2.039e12,
    "h100": 3.35e12,
    "h200": 4.8e12,
}
"""Bytes per second of an accelerator's memory (NVIDIA's data sheets, SXM)."""

OF_ARITHMETIC, OF_MEMORY = 0.4, 0.6
"""Shares of both peaks that large models reach. Assumed."""

_BYTES = 2  # of a number in bfloat16
_TOGETHER = 256
"""Answers that an accelerator writes at once, at most: vLLM's default of ``max_num_seqs``."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Hours of the phases of a training run.

    Attributes:
        prefill: Reading prompts, those of validations too.
        decode: Writing answers.
        update: Scoring, gradients and steps of the optimizer.
    """

    prefill: float
    decode: float
    update: float

    @property
    def sum(self) -> float:
        return self.prefill + self.decode + self.update


def phases(shape: Shape, run: TrainingWork, gpus: int, speed: float, bandwidth: float) -> Phases:
    """How long the phases of a training run take.

    Args:
        shape: The model.
        run: What is done.
        gpus: Accelerators that share it.
        speed: Peak of each, in operations per second.
        bandwidth: Peak of the memory of each, in bytes per second.
    """
    arithmetic = gpus * speed * OF_ARITHMETIC * 3600  # operations an hour
    sampled = run.prompts * run.group if run.samples else 0
    read = run.steps * (run.prompts if run.samples else 0) + run.asked
    written = run.steps * _decode(shape, sampled, run.lengths, gpus, bandwidth)
    asked = _decode(shape, run.asked, run.lengths, gpus, bandwidth)
    return Phases(
        prefill=2.0 * shape.parameters * read * run.lengths.prompt / arithmetic,
        decode=written + asked,
        update=run.steps * update_operations(shape, run) / arithmetic,
    )


def _decode(shape: Shape, answers: int, lengths: Lengths, gpus: int, bandwidth: float) -> float:
    """The hours in which answers are written."""
    own = -(-answers // gpus)
    rounds = -(-own // _TOGETHER)
    cached = 2 * shape.num_hidden_layers * shape.num_key_value_heads * shape.head_size * _BYTES
    context = lengths.prompt + lengths.answer / 2  # on the average
    read = lengths.answer * (rounds * _BYTES * shape.parameters + own * context * cached)
    return read / (bandwidth * OF_MEMORY) / 3600
