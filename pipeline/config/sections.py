"""The sections of a study file, with their allowed values."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

Value = TypeVar("Value")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _as_written(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


OneOrMore = Annotated[
    tuple[Value, ...],
    BeforeValidator(_as_list),
    Field(min_length=1),
    PlainSerializer(_as_written),
]
"""One value or a list of values in a study; always a tuple here."""

Key = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """Base of all sections: unknown fields are mistakes, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- sources -----------------------------------------------------------------------------------


class UpstreamSource(Section):
    """Published files, downloaded or taken from the mirror, verified by digest."""

    kind: Literal["upstream"]


class StorySource(Section):
    """Stories and questions from the belief engine, split by story.

    Attributes:
        telling: The surface style: the benchmark's own words, two other styles, or (Hi-ToM only)
            ``brief`` for tiny models. Another telling than the benchmark's is part of the
            source's name: ``hi_tom_style_prose``.
        small_names: Draw from small pools of names, so that a tiny vocabulary suffices.
        train: Stories to train on.
        validation: Stories to validate on.
        test: Stories to test on.
        seed: Seed of all draws.
    """

    telling: Literal["benchmark", "prose", "log"] = "benchmark"
    small_names: bool = False
    train: int = Field(default=0, ge=0)
    validation: int = Field(default=0, ge=0)
    test: int = Field(default=0, ge=0)
    seed: int = 0


class HiTomSource(StorySource):
    """Hi-ToM-style stories: agents enter, move an object, leave, and may lie about it.

    Attributes:
        agents: Agents in a story.
        chapters: Chapters of a story; of several values each story draws one.
        tell: Whether chapters may end with claims; of several values each story draws one.
        noise: Probability of a distractor before each sentence.
    """

    kind: Literal["hi_tom_style"]
    telling: Literal["benchmark", "prose", "log", "brief"] = "benchmark"  # type: ignore[assignment]
    agents: Annotated[int, Field(ge=2, le=5)] = 5
    chapters: OneOrMore[Annotated[int, Field(ge=1, le=3)]] = (1,)
    tell: OneOrMore[bool] = (False,)
    noise: Fraction = 0.0


class TomiSource(StorySource):
    """ToMi-style stories, labelled by a plain reading."""

    kind: Literal["tomi_style"]
    noise: bool = True


class ExploreTomSource(StorySource):
    """ExploreToM-style stories."""

    kind: Literal["explore_tom_style"]
    story_type: str = "tomi"
    people: Annotated[int, Field(ge=2, le=4)] = 3
    moves: Annotated[int, Field(ge=1, le=4)] = 3


class FantomSource(StorySource):
    """FANToM-style conversations with information asymmetry."""

    kind: Literal["fantom_style"]
    people: Annotated[int, Field(ge=3, le=5)] = 3
    told: Annotated[int, Field(ge=2, le=4)] = 2
    full_context: bool = False


class OpenTomSource(StorySource):
    """OpenToM-style narratives."""

    kind: Literal["opentom_style"]


class ArithmeticSource(Section):
    """Generated arithmetic word problems (not GSM8K)."""

    kind: Literal["arithmetic"]
    train: int = Field(default=0, ge=0)
    test: Positive
    largest: Positive = 9
    seed: int = 0


GeneratedSource = HiTomSource | TomiSource | ExploreTomSource | FantomSource | OpenTomSource
Source = Annotated[UpstreamSource | GeneratedSource | ArithmeticSource, Field(discriminator="kind")]


# --- data --------------------------------------------------------------------------------------

PromptStyle = Literal["compact", "tom-rl", "tom-rl-json", "rlvr"]
Split = Literal["published", "by-story"]


class Part(Section):
    """Rows taken from one registered task.

    Attributes:
        task: A registered task.
        orders: Belief orders to keep; all if absent.
        where: Values that fields of the example or of its meta must have, such as
            ``is_interesting: true`` or ``answer_kind: yes_no``.
        fold: Keep the stories of one fold only; the folds share no story.
        limit: Number of rows to keep, drawn with the study seed; all if absent.
    """

    task: str
    orders: tuple[int, ...] | None = None
    where: dict[str, bool | int | str] = {}
    fold: Literal["train", "validation", "test"] | None = None
    limit: Positive | None = None


class Combination(Section):
    """What one combination trains on and validates on."""

    train: tuple[Part, ...] = Field(min_length=1)
    validation: tuple[Part, ...] = Field(min_length=1)


class Probe(Section):
    """What training is measured on, beside validation, on the base model and after every epoch.

    It selects nothing and stops nothing: it shows when learning one task helps or hurts the others.

    Attributes:
        columns: Columns of the suite, in and out of distribution.
        limit: Rows of each column, at most.
    """

    columns: tuple[str, ...] = Field(min_length=1)
    limit: Positive = 100


class Dataset(Section):
    """Training data.

    Attributes:
        split: ``published`` keeps the papers' splits, leaks and all; ``by-story`` fails where a
            story stands on both sides.
        prompt: The prompt that training shows.
        probe: What training is measured on after every epoch; nothing if absent.
        licence_note: Why data marked non-commercial or evaluation-only may be trained on here;
            without it such data is refused.
    """

    split: Split
    prompt: PromptStyle
    combinations: dict[Key, Combination] = Field(min_length=1)
    probe: Probe | None = None
    licence_note: str | None = None


class SuiteTask(Part):
    """One column of the result table.

    Attributes:
        trained: Combinations for which this column is in-distribution.
    """

    trained: tuple[str, ...] = ()


class Suite(Section):
    """All evaluation tasks, by column name."""

    tasks: dict[Key, SuiteTask] = Field(min_length=1)


class Audit(Section):
    """The data audit: rule baselines, leakage, duplicates."""

    ngram: Positive = 13


# --- models ------------------------------------------------------------------------------------

TinySizeName = Literal["nano", "micro", "small", "medium", "large"]


class WarmStart(Section):
    """Supervised training of a tiny model on reasoning traces made by the belief engine.

    Attributes:
        steps: Optimiser steps, at most.
        target_accuracy: Stop once this share of held-out demonstrations is answered correctly
            (greedy decoding): models of all sizes and seeds then start reinforcement learning from
            the same level, with room to improve. Without it, all steps are taken.
        batch: Sequences per step.
        learning_rate: Peak of AdamW's learning rate.
        stories: Stories drawn for the demonstrations.
        arithmetic_share: Share of demonstrations that are arithmetic.
        direct_share: Share of story demonstrations that answer without reasoning.
        vocabulary: Tokens of the tokenizer.
        context: Longest sequence in tokens.
    """

    steps: Positive
    batch: Positive = 64
    learning_rate: float = Field(gt=0)
    stories: Positive
    arithmetic_share: Fraction = 0.1
    direct_share: Fraction = 0.0
    target_accuracy: Fraction | None = None
    vocabulary: Positive = 512
    context: Positive = 512

    @model_validator(mode="after")
    def _enough_stories(self) -> WarmStart:
        if self.target_accuracy is not None and self.stories < 400:
            raise ValueError(
                f"stories is {self.stories}; a target accuracy holds 200 demonstrations out, so "
                "allowed: 400 or more"
            )
        return self


class TinyModel(Section):
    """A tiny Qwen2-architecture model made on the spot."""

    kind: Literal["tiny"]
    title: str
    size: TinySizeName
    warm_start: WarmStart


class HubModel(Section):
    """Published weights, pinned by revision."""

    kind: Literal["hub"]
    title: str
    repository: str
    revision: str | None = None


class ApiModel(Section):
    """A model behind an OpenAI-compatible address: evaluated, never trained."""

    kind: Literal["api"]
    title: str
    model: str


Model = Annotated[TinyModel | HubModel | ApiModel, Field(discriminator="kind")]


class Base(Section):
    """The models of the study."""

    models: dict[Key, Model] = Field(min_length=1)


# --- training ----------------------------------------------------------------------------------

Aggregation = Literal[
    "token-mean",
    "token-sum",
    "seq-mean-token-sum",
    "seq-mean-token-sum-norm",
    "seq-mean-token-mean",
]
Algorithm = Literal[
    "grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "ppo", "sft"
]
RewardPreset = Literal["tom-rl", "tom-rl-text", "rlvr", "fidelity"]
Accelerator = Literal["cpu", "a100-40", "a100-80", "h100", "h200"]


class Cluster(Section):
    """Where and how ``backend: verl`` trains a cell; the local backend does not read it.

    Attributes:
        accelerator: What the cluster's nodes have; ``auto`` is ``cpu`` for tiny models and
            ``a100-80`` for all others.
        gpus: Accelerators per node that a cell takes (processes, on CPU); the smallest number that
            the placement plan allows if absent.
        nodes: Nodes that a cell takes.
        tensor_parallel: Accelerators that one copy of the rollout model spans; as planned if
            absent.
        offload: Keep parameters and optimiser in the nodes' own memory between steps; as planned if
            absent.
        time_limit_minutes: The job is stopped after this time.
        stall_minutes: The job is stopped when it has made no progress for this time.
        retries: How often a job that failed goes on from its last checkpoint.
        overrides: More settings of verl, by their dotted names; they win over everything else.
    """

    accelerator: Accelerator | Literal["auto"] = "auto"
    gpus: Positive | None = None
    nodes: Positive = 1
    tensor_parallel: Positive | None = None
    offload: bool | None = None
    time_limit_minutes: float = Field(default=2880, gt=0)
    stall_minutes: float = Field(default=60, gt=0)
    retries: int = Field(default=2, ge=0)
    overrides: dict[str, bool | int | float | str] = {}


class Train(Section):
    """The training recipe.

    Attributes:
        backend: ``local`` trains in-process; ``verl`` through a Ray job.
        cluster: Where and how ``verl`` trains.
        reward: Reward preset, see ``pipeline.reward.presets``.
        prompts_per_step: Prompts in one rollout batch.
        rollouts: Completions per prompt.
        updates_per_batch: Optimiser steps on each rollout batch (1 = on-policy).
        steps: Number of steps; give this or ``epochs``.
        epochs: Passes over the training data; give this or ``steps``.
        learning_rate: AdamW, constant.
        normalise_by_std: GRPO divides by the standard deviation of the group.
        clip_range: Clip range of the probability ratio.
        clip_range_high: Clip range above 1, where it differs from that below.
        dual_clip: Bound on the loss of a token with negative advantage, in units of its advantage;
            verl always uses 3.
        aggregation: How token losses become one number.
        kl_coefficient: Weight of the KL penalty against the reference model.
        kl_kind: Estimator of the KL divergence (``low_var_kl`` is k3).
        kl_in_reward: Take the penalty off the reward of each token instead of adding it to the
            loss.
        entropy_coefficient: Weight of the entropy bonus.
        value_learning_rate: AdamW of PPO's critic; as ``learning_rate`` if absent.
        value_clip: Clip range of the critic's change.
        discount: Gamma of PPO's advantages.
        gae_decay: Lambda of PPO's advantages.
        fidelity_weight: Weight of the reasoning against the answer in the reward ``fidelity``.
        gradient_clip: Largest gradient norm.
        temperature: Sampling temperature of rollouts.
        top_p: Nucleus of rollouts.
        max_prompt_tokens: Longer prompts are skipped and counted.
        max_new_tokens: Longest completion.
        validate_every: Steps between validations.
        save_every: Steps between checkpoints that a killed run resumes from.
        early_stop_patience: Validations without a new best after which training ends.
        groups_per_micro_batch: Prompts whose completions go through the model at once, at most.
        tokens_per_micro_batch: Tokens, padding included, that go through the model at once; a
            group above it is split, down to single completions.
        precision: Number format of the forward pass; weights and optimiser stay in float32.
        device: ``auto`` takes a GPU where there is one.
        gradient_checkpointing: Recompute activations instead of keeping them; each completion then
            carries its own copy of the prompt.
        checkpoint: Which checkpoint is evaluated: ``best`` on validation, or ``last``.
    """

    backend: Literal["local", "verl"] = "local"
    cluster: Cluster = Cluster()
    reward: RewardPreset
    prompts_per_step: Positive
    rollouts: Positive
    updates_per_batch: Positive = 1
    steps: Positive | None = None
    epochs: float | None = Field(default=None, gt=0)
    learning_rate: float = Field(gt=0)
    normalise_by_std: bool = True
    clip_range: float = Field(default=0.2, gt=0, lt=1)
    clip_range_high: float | None = Field(default=None, gt=0)
    dual_clip: float | None = Field(default=None, gt=1)
    aggregation: Aggregation = "token-mean"
    kl_coefficient: float = Field(default=0.001, ge=0)
    kl_kind: Literal["kl", "mse", "low_var_kl"] = "low_var_kl"
    kl_in_reward: bool = False
    entropy_coefficient: float = Field(default=0.0, ge=0)
    value_learning_rate: float | None = Field(default=None, gt=0)
    value_clip: float = Field(default=0.5, gt=0)
    discount: Fraction = 1.0
    gae_decay: Fraction = 1.0
    fidelity_weight: Fraction = 0.5
    gradient_clip: float = Field(default=1.0, gt=0)
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_prompt_tokens: Positive
    max_new_tokens: Positive
    validate_every: Positive
    save_every: Positive
    early_stop_patience: Positive | None = None
    groups_per_micro_batch: Positive = 1
    tokens_per_micro_batch: Positive | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    gradient_checkpointing: bool = False
    checkpoint: Literal["best", "last"] = "best"

    @model_validator(mode="after")
    def _one_length(self) -> Train:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give exactly one of steps and epochs")
        return self

    def total_steps(self, rows: int) -> int:
        """Return the number of steps on a training set of ``rows`` prompts."""
        if self.steps is not None:
            return self.steps
        return math.ceil(rows * (self.epochs or 0) / self.prompts_per_step)


class Evaluate(Section):
    """How completions are sampled for scoring.

    Attributes:
        engine: What runs the model.
        prompt: Prompt of trained cells.
        base_prompt: Prompt of base and API cells, where it differs.
        temperature: 0 takes the most likely token.
        top_p: Nucleus.
        max_new_tokens: Longest completion.
        batch: Prompts decoded at once.
    """

    engine: Literal["hf", "openai", "vllm"] = "hf"
    prompt: PromptStyle
    base_prompt: PromptStyle | None = None
    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_new_tokens: Positive
    batch: Positive = 64


class SideCheck(Section):
    """The mathematics side-check: does training on stories cost arithmetic?"""

    task: str
    limit: Positive | None = None
    max_new_tokens: Positive
    prompt: Literal["boxed", "compact"] = "boxed"


class Grid(Section):
    """Which cells the study has: the product of these lists."""

    models: tuple[str, ...] = Field(min_length=1)
    combinations: tuple[str, ...] = Field(min_length=1)
    algorithms: tuple[Algorithm, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = (0,)
    evaluate_only: tuple[str, ...] = ()
