"""The training recipe, and where it runs."""

from __future__ import annotations

import math
from operator import not_
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.base.plugins import BACKENDS
from pipeline.config.algorithms import (
    ALGORITHMS,
    Aggregation,
    AlgorithmBase,
    AlgorithmSettings,
)
from pipeline.config.reward import RewardSettings
from pipeline.config.section import Batch, Positive, Rate, Section, Tokens, one_of

Accelerator = Literal["l4", "rtx-4090", "a100-40", "a100-80", "h100", "h200"]


def _is_none(value: object) -> bool:
    return value is None


Rollouts = Annotated[int, Field(ge=1, le=1024)]
"""Completions per prompt."""

Temperature = Annotated[float, Field(gt=0, le=100)]
"""Of sampling."""

LearningRateSchedule = Literal["constant", "linear"]
"""Constant, or linear decay to zero after the last step."""


class Cluster(Section):
    """Resources of a cell's training on a cluster.

    The local backend reads ``accelerator``, the limits on time and ``retries`` alone.

    Attributes:
        accelerator: Kind of accelerator; ``auto`` is ``a100-80``, with ``backend: local`` only if
            the cluster has accelerators.
        memory: GiB per accelerator, if not as its name implies.
        gpus: Accelerators per node; by default those of its first row in
            ``pipeline/ops/verl/sizes.yaml``.
        node_gpus: Accelerators of each node, if not 8. A cell on several nodes takes all of each.
        nodes: Nodes; by default as in the row, or one if ``gpus`` is given.
        tensor_parallel: Accelerators per copy of the rollout model; by default as in the row.
        offload: Keep parameters and optimiser in host memory between steps; by default as in the
            row.
        time_limit_minutes: Limit on the total time of the job's attempts, without waiting for
            accelerators; by default three times the plan's estimate, an hour at least, and
            none for ``backend: local``.
        stall_minutes: Limit on the time without progress; before the first step 15 minutes at most.
        deterministic: Have verl, PyTorch and vLLM compute with deterministic kernels and give each
            completion a seed, so that the same weights come of the same study; slower.
        retries: Consecutive failed attempts without a new checkpoint before giving up; nothing else
            retries a cell's job.
        overrides: Further settings of verl by dotted name, with highest precedence.
    """

    accelerator: Accelerator | Literal["auto"] = "auto"
    memory: float | None = Field(default=None, gt=0, le=10_000, exclude_if=_is_none)
    gpus: Positive | None = None
    node_gpus: Positive | None = Field(default=None, exclude_if=_is_none)
    nodes: Positive | None = None
    tensor_parallel: Positive | None = None
    offload: bool | None = None
    time_limit_minutes: float | None = Field(default=None, gt=0)
    stall_minutes: float = Field(default=60, gt=0)
    retries: int = Field(default=2, ge=0)
    deterministic: bool = Field(default=False, exclude_if=not_)
    overrides: dict[str, bool | int | float | str] = Field(default={})


class Lora(Section):
    """LoRA on every linear layer but the vocabulary head.

    Hu et al. 2021, arXiv 2106.09685, section 4.1: a layer's weight is W + (alpha / rank) B A, of
    which B and A are trained. Embeddings, norms and biases are frozen. With ``precision: bfloat16``
    W is held in bfloat16, and with ``backend: verl`` all that is frozen.

    Attributes:
        rank: Rows of A and columns of B; 512 is vLLM's maximum.
        alpha: Scale of their product, before division by ``rank``.
    """

    rank: Annotated[int, Field(ge=1, le=512)] = 32
    alpha: Positive = 32


_OWNERS = {"fidelity_weight": "the reward; write train.reward: {preset: fidelity, weight: ...}"} | {
    setting: f"the algorithm {name}; a study writes "
    f"train.algorithms: {{{name}: {{{setting}: ...}}}}"
    for name, kind in ALGORITHMS.items()
    for setting in kind.own_settings()
}


class Train(Section):
    """The training recipe of a cell, for all algorithms.

    Attributes:
        backend: ``local`` trains in-process; ``verl`` in a Ray job.
        cluster: Resources of ``verl``.
        reward: The name of a preset, or ``{preset: NAME, SETTING: VALUE}``.
        prompts_per_step: Prompts in one rollout batch.
        rollouts: Completions per prompt; published group sizes reach 512.
        updates_per_batch: Optimiser steps per rollout batch (1 = on-policy).
        steps: Number of steps; give this or ``epochs``.
        epochs: Passes over the training data; give this or ``steps``.
        learning_rate: AdamW, of the first step.
        clip_range_high: Upper clip range, if different.
        dual_clip: Bound on the loss of a token with negative advantage, in units of its advantage;
            none if absent, with either backend.
        aggregation: Reduction of token losses.
        kl_coefficient: Weight of the KL penalty against the reference model.
        kl_kind: Estimator of the KL divergence (``low_var_kl`` is k3).
        kl_in_reward: Subtract the penalty from token rewards instead of adding it to the loss.
        think: Allow reasoning before answers; else an empty thought is pre-filled.
        max_prompt_tokens: Longer prompts are skipped and counted.
        validate_every: Steps between validations.
        save_every: Steps between resumable checkpoints.
        groups_per_micro_batch: Maximum prompts whose completions go through the model at once.
        tokens_per_micro_batch: Maximum tokens, with padding, that go through the model at once;
            larger groups are split, down to single completions.
        precision: Number format of the forward pass; trained weights and optimiser stay in float32.
        device: ``auto`` uses a GPU if there is one.
        gradient_checkpointing: Recompute activations; each completion then has its own copy of the
            prompt.
        checkpoint: Evaluated checkpoint: ``best`` on validation, or ``last``.
        lora: Adapters; full training if absent.
        learning_rate_schedule: ``linear`` with ``backend: local`` only.
        stop_on: ``alarm`` has a cell fail, its last checkpoint kept, when its rollouts show that it
            takes up a shortcut; else that is told, and training goes on.
        allow_no_answers: Train by reward even if the model answers no validation prompt before
            training, so that there is almost nothing to reward.
    """

    backend: Annotated[str, one_of(BACKENDS)] = "local"
    cluster: Cluster = Cluster()
    reward: RewardSettings
    prompts_per_step: Batch
    rollouts: Rollouts
    updates_per_batch: Positive = 1
    steps: Positive | None = None
    epochs: float | None = Field(default=None, gt=0, le=100_000)
    learning_rate: Rate
    clip_range: float = Field(default=0.2, gt=0, lt=1)
    clip_range_high: float | None = Field(default=None, gt=0)
    dual_clip: float | None = Field(default=None, gt=1)
    aggregation: Aggregation = "token-mean"
    kl_coefficient: float = Field(default=0.001, ge=0)
    kl_kind: Literal["kl", "mse", "low_var_kl"] = "low_var_kl"
    kl_in_reward: bool = False
    entropy_coefficient: float = Field(default=0.0, ge=0)
    gradient_clip: float = Field(default=1.0, gt=0)
    temperature: Temperature = 1.0
    top_p: float = Field(default=1.0, gt=0, le=1)
    think: bool = True
    max_prompt_tokens: Tokens
    max_new_tokens: Tokens
    validate_every: Positive
    save_every: Positive
    groups_per_micro_batch: Positive = 1
    tokens_per_micro_batch: Positive | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    gradient_checkpointing: bool = False
    checkpoint: Literal["best", "last"] = "best"
    # Cells that ask for none of these are written as if there were none.
    lora: Lora | None = Field(default=None, exclude_if=_is_none)
    learning_rate_schedule: LearningRateSchedule = Field(
        default="constant", exclude_if=lambda value: value == "constant"
    )
    stop_on: Literal["alarm"] | None = Field(default=None, exclude_if=_is_none)
    allow_no_answers: bool = Field(default=False, exclude_if=not_)

    @model_validator(mode="before")
    @classmethod
    def _own_settings_elsewhere(cls, content: object) -> object:
        for name in content if isinstance(content, dict) else ():
            if owner := _OWNERS.get(name):
                raise ValueError(f"{name} belongs to {owner}")
        return content

    @model_validator(mode="after")
    def _one_length(self) -> Train:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give exactly one of steps and epochs")
        return self

    @property
    def clip_high(self) -> float:
        return self.clip_range if self.clip_range_high is None else self.clip_range_high

    def holds_reference(self, algorithm: AlgorithmBase) -> bool:
        """A frozen copy of the policy is held, for a penalty or adapters."""
        return self.lora is not None or (algorithm.reference and self.kl_coefficient > 0)

    def total_steps(self, rows: int) -> int:
        if self.steps is not None:
            return self.steps
        return math.ceil(rows * (self.epochs or 0) / self.prompts_per_step)


class StudyTrain(Train):
    """The training recipe of a study; ``algorithms`` has settings that differ from the defaults."""

    algorithms: AlgorithmSettings = Field(default={})

    @property
    def recipe(self) -> Train:
        return Train(**{name: getattr(self, name) for name in Train.model_fields})
