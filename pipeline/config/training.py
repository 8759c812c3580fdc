"""The training recipe, and where it runs."""

from __future__ import annotations

import math
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
"""Completions of one prompt."""

Temperature = Annotated[float, Field(gt=0, le=100)]
"""Of sampling."""

LearningRateSchedule = Literal["constant", "linear"]
"""How the learning rate goes: it stays, or falls in a line to nothing after the last step."""


class Cluster(Section):
    """Where and how a cell trains on a cluster.

    The local backend reads ``accelerator``, the limits on time and ``retries`` alone.

    Attributes:
        accelerator: What the cluster's nodes have; ``auto`` is ``a100-80``, for ``backend: local``
            where the cluster has accelerators.
        memory: GiB that CUDA offers on each accelerator, if its name stands for another.
        gpus: Accelerators per node that a cell takes; if absent those of the first row for it in
            ``pipeline/ops/verl/sizes.yaml``.
        node_gpus: Accelerators of each node, where that is not 8: a cell takes at most so many of
            one, and all of each where it takes several.
        nodes: Nodes that a cell takes; those of the row if absent, one if ``gpus`` is given.
        tensor_parallel: Accelerators that one copy of the rollout model spans; as in the row if
            absent.
        offload: Keep parameters and optimiser in the nodes' own memory between steps; as in the row
            if absent.
        time_limit_minutes: The job is stopped when its attempts have taken this time, without what
            they wait for accelerators; three times the plan's estimate if absent, and for
            ``backend: local`` never.
        stall_minutes: The job is stopped when it has made no progress for this time; before its
            first step after 15 minutes at most.
        retries: How many attempts after a failed one may fail in a row without a new checkpoint;
            nothing else tries a cell's job again.
        overrides: More settings of verl, by their dotted names; they win over everything else.
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
    overrides: dict[str, bool | int | float | str] = Field(default={})


class Lora(Section):
    """Training few weights: every linear layer but the vocabulary head gets two thin matrices.

    Hu et al. 2021, arXiv 2106.09685, section 4.1: a layer's weight is W + (alpha / rank) B A, of
    which B and A are trained. Embeddings, norms and biases stay as they are. With
    ``precision: bfloat16`` W is held in bfloat16, and with ``backend: verl`` all that is frozen.

    Attributes:
        rank: Rows of A and columns of B; 512 is the most that vLLM serves.
        alpha: Scale of their product, which is divided by ``rank``.
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
    """The training recipe of a cell, whatever its algorithm.

    Attributes:
        backend: ``local`` trains in-process; ``verl`` through a Ray job.
        cluster: Where and how ``verl`` trains.
        reward: The reward: the name of a preset, or ``{preset: NAME, SETTING: VALUE}``.
        prompts_per_step: Prompts in one rollout batch.
        rollouts: Completions per prompt; the largest groups that anybody publishes have 512.
        updates_per_batch: Optimiser steps on each rollout batch (1 = on-policy).
        steps: Number of steps; give this or ``epochs``.
        epochs: Passes over the training data; give this or ``steps``.
        learning_rate: AdamW, of the first step.
        clip_range: Clip range of the probability ratio.
        clip_range_high: Clip range above 1, where it differs from that below.
        dual_clip: Bound on the loss of a token with negative advantage, in units of its advantage;
            absent: none, with either backend.
        aggregation: How token losses become one number.
        kl_coefficient: Weight of the KL penalty against the reference model.
        kl_kind: Estimator of the KL divergence (``low_var_kl`` is k3).
        kl_in_reward: Take the penalty off the reward of each token instead of adding it to the
            loss.
        entropy_coefficient: Weight of the entropy bonus.
        gradient_clip: Largest gradient norm.
        temperature: Sampling temperature of rollouts.
        top_p: Nucleus of rollouts.
        think: Whether responses may reason before they answer; else an empty thought is pre-filled.
        max_prompt_tokens: Longer prompts are skipped and counted.
        max_new_tokens: Longest completion.
        validate_every: Steps between validations.
        save_every: Steps between checkpoints that a killed run resumes from.
        groups_per_micro_batch: Prompts whose completions go through the model at once, at most.
        tokens_per_micro_batch: Tokens, padding included, that go through the model at once; a
            group above it is split, down to single completions.
        precision: Number format of the forward pass; what is trained and its optimiser stay in
            float32.
        device: ``auto`` takes a GPU where there is one.
        gradient_checkpointing: Recompute activations instead of keeping them; each completion then
            carries its own copy of the prompt.
        checkpoint: Which checkpoint is evaluated: ``best`` on validation, or ``last``.
        lora: Train few weights; all of them if absent.
        learning_rate_schedule: How the learning rate goes from there; ``linear`` with ``backend:
            local`` only.
        allow_no_answers: Train by reward also where the model answers no validation prompt before
            training, so that there is next to nothing to reward.
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
    allow_no_answers: bool = Field(default=False, exclude_if=lambda value: not value)

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
        """Clip range of the probability ratio above 1."""
        return self.clip_range if self.clip_range_high is None else self.clip_range_high

    def holds_reference(self, algorithm: AlgorithmBase) -> bool:
        """Whether a frozen copy of the policy is held: a penalty or adapters ask for it."""
        return self.lora is not None or (algorithm.reference and self.kl_coefficient > 0)

    def total_steps(self, rows: int) -> int:
        """The number of steps on a training set of ``rows`` prompts."""
        if self.steps is not None:
            return self.steps
        return math.ceil(rows * (self.epochs or 0) / self.prompts_per_step)


class StudyTrain(Train):
    """The training recipe of a study.

    Attributes:
        algorithms: Settings of the grid's algorithms, where they differ from the defaults.
    """

    algorithms: AlgorithmSettings = Field(default={})

    @property
    def recipe(self) -> Train:
        """The recipe that all cells share."""
        return Train(**{name: getattr(self, name) for name in Train.model_fields})
