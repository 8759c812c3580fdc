"""Floating-point operations of a cell's stages, and how many hours they take.

A forward pass takes 2 operations for each weight and token, a backward pass 4, recomputed
activations 2 more. A step samples all completions (a prompt is encoded once for its group), scores
them under the policy and under the reference model, and updates; the local trainer encodes a prompt
once for its group there, too.

One figure turns operations into time: the share of the accelerators' peak that is reached over a
whole run. It is what makes Study 1's run of Qwen2.5-7B-1M come out at the 12 hours on four A100
80 GB that its paper states (arXiv 2504.01698: 800 steps of 8 prompts x 16 completions, 400
validation questions every 10 steps), which gives 15 %. It lies within what others publish for RL
from end to end: prime-rl reports 11.1 % at 16K tokens and 26.8 % at 64K (Qwen3-0.6B, one H100).

All of it is an estimate. Lengths of prompts and answers are assumed; a model that answers longer
takes longer in proportion, and small models on large accelerators wait for each other. So a figure
stands for half to twice as much (:data:`RANGE`), unless it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.algorithms import Algorithm, Grpo
from pipeline.config.training import Train
from pipeline.ops.planning.cluster import TERAFLOPS
from pipeline.train.schedule import Schedule
from pipeline.train.shape import Shape
from pipeline.train.shapes import QWEN25

RANGE = (0.5, 2.0)
"""How much less or more than an estimate it may take, as factors."""

PROMPT_TOKENS = 512
"""Of a prompt, at most: a Hi-ToM story of five agents with its frame has 300 to 500. Assumed."""
ANSWER_TOKENS = 256
"""Of a response, at most: Study 1's authors record 118 words of 7B-1M (median). Assumed."""
CPU_SHARE = 0.25
"""What makes the steps of study ``mini`` come out at the 2.8 seconds that they take on a core of an
AMD EPYC, with the assumed lengths: its answers, of 40 tokens, are half as long as they may be."""
LARGE_CPU_SHARE = {"float32": 1.0, "bfloat16": 2.0}
"""The same of models that are not tiny, whose matrices keep a core busy, of its peak in single
precision. Assumed."""
PUBLISHED_HOURS = 12.0
"""Of Study 1's run of 7B-1M, on four A100 80 GB."""
_DOWNLOAD = 100e6  # bytes per second from the hub. Assumed


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a prompt and of a response."""

    prompt: int
    answer: int

    @classmethod
    def within(cls, most_prompt: int, most_answer: int) -> Lengths:
        return cls(min(most_prompt, PROMPT_TOKENS), min(most_answer, ANSWER_TOKENS))

    @property
    def all(self) -> int:
        return self.prompt + self.answer


def train_operations(
    shape: Shape, recipe: Train, algorithm: Algorithm, schedule: Schedule, validation: int
) -> float:
    """The operations of a training run, with so many questions of a validation."""
    lengths = Lengths.within(recipe.max_prompt_tokens, recipe.max_new_tokens)
    prompts, group = recipe.prompts_per_step, recipe.rollouts if algorithm.samples else 1
    recomputes = recipe.backend == "verl" or recipe.gradient_checkpointing
    learning, sampled, scored = 8.0 if recomputes else 6.0, 0.0, 0.0
    if algorithm.samples:  # and scored by the policy and the reference model
        sampled, scored = prompts * (lengths.prompt + group * lengths.answer), 4.0
    critic = (2.0 + learning) * shape.trunk if algorithm.critic else 0.0
    encoded = 1 if recipe.backend == "local" else group
    tokens = prompts * (encoded * lengths.prompt + group * lengths.answer)
    update = ((learning + scored) * shape.parameters + critic) * tokens
    step = 2.0 * shape.parameters * sampled + update
    asked = validation * sum(map(schedule.validates, range(schedule.total + 1)))
    return schedule.total * step + answer_operations(shape, asked, lengths)


def answer_operations(shape: Shape, questions: int, lengths: Lengths) -> float:
    return 2.0 * shape.parameters * questions * lengths.all


def hours(operations: float, accelerators: int, speed: float) -> float:
    """How many hours operations take.

    Args:
        operations: How many.
        accelerators: That share them.
        speed: What each reaches, in operations per second.
    """
    return operations / (accelerators * speed) / 3600


def download_hours(parameters: int) -> float:
    """How long weights in bfloat16 take from the hub."""
    return 2 * parameters / _DOWNLOAD / 3600


_PUBLISHED = Train.model_validate(
    {
        "backend": "verl",
        "reward": "tom-rl-strict",
        "prompts_per_step": 8,
        "rollouts": 16,
        "steps": 800,
        "learning_rate": 1e-6,
        "max_prompt_tokens": 1024,
        "max_new_tokens": 2048,
        "validate_every": 10,
        "save_every": 10,
    }
)
SHARE = train_operations(
    QWEN25["7B"], _PUBLISHED, Grpo(), Schedule.of(_PUBLISHED, 0), validation=400
) / (PUBLISHED_HOURS * 3600 * 4 * 1e12 * TERAFLOPS["a100-80"])
"""Share of the accelerators' peak that a whole run reaches, by Study 1's run of 7B-1M."""
