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

from pipeline.config.algorithms import Algorithm
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


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """What the operations of a training run depend on, beside the model.

    Attributes:
        steps: Number of steps.
        prompts: Prompts of a step.
        group: Completions of a prompt; 1 where nothing is sampled.
        lengths: Of a prompt and of a completion.
        asked: Questions of validations that are answered, in all.
        samples: Whether completions are sampled and scored, or given.
        critic: Whether a critic is trained too.
        recomputes: Whether activations are computed again for the backward pass.
        shares: Whether a prompt is encoded once for its group, wherever it is.
    """

    steps: int
    prompts: int
    group: int
    lengths: Lengths
    asked: int
    samples: bool = True
    critic: bool = False
    recomputes: bool = True
    shares: bool = False

    @property
    def tokens(self) -> int:
        """The tokens of a step, as its model sees them."""
        encoded = 1 if self.shares else self.group
        return self.prompts * (encoded * self.lengths.prompt + self.group * self.lengths.answer)


def run_of(
    recipe: Train, algorithm: Algorithm, schedule: Schedule, validation: int
) -> TrainingWork:
    """The run of a recipe, with so many questions of a validation."""
    return TrainingWork(
        steps=schedule.total,
        prompts=recipe.prompts_per_step,
        group=recipe.rollouts if algorithm.samples else 1,
        lengths=Lengths.within(recipe.max_prompt_tokens, recipe.max_new_tokens),
        asked=validation * sum(map(schedule.validates, range(schedule.total + 1))),
        samples=algorithm.samples,
        critic=algorithm.critic is not None,
        recomputes=recipe.backend == "verl" or recipe.gradient_checkpointing,
        shares=recipe.backend == "local",
    )


def train_operations(shape: Shape, run: TrainingWork) -> float:
    """The operations of a training run."""
    learning = 8.0 if run.recomputes else 6.0
    sampled, scored = 0.0, 0.0
    if run.samples:  # and scored by the policy and the reference model
        sampled, scored = run.prompts * (run.lengths.prompt + run.group * run.lengths.answer), 4.0
    critic = (2.0 + learning) * shape.trunk if run.critic else 0.0
    update = ((learning + scored) * shape.parameters + critic) * run.tokens
    step = 2.0 * shape.parameters * sampled + update
    return run.steps * step + answer_operations(shape, run.asked, run.lengths)


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


_PUBLISHED = TrainingWork(
    steps=800,
    prompts=8,
    group=16,
    lengths=Lengths.within(1024, 2048),
    asked=81 * 400,
)
SHARE = train_operations(QWEN25["7B"], _PUBLISHED) / (
    PUBLISHED_HOURS * 3600 * 4 * 1e12 * TERAFLOPS["a100-80"]
)
"""Share of the accelerators' peak that a whole run reaches, by Study 1's run of 7B-1M."""
