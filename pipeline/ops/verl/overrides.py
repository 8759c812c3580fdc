"""A cell's parameters as settings of verl 0.9.1 (Hydra overrides of its ``ppo_trainer``).

Every field of :class:`pipeline.config.training.Train` is mapped here, refused here, or has another
owner:

- ``backend``, ``checkpoint``, ``cluster`` (but its overrides), ``allow_no_answers``, ``stop_on``:
  the stage and the job;
- ``groups_per_micro_batch``, ``device``: the local trainer's; the placement decides them for verl,
  with updates of at most ``tokens_per_micro_batch`` tokens at once, but one completion at least;
- ``gradient_checkpointing``: always with verl.

How the accelerators are used is set in :mod:`pipeline.ops.verl.budgets`.

Left at verl's own defaults, which are the local trainer's: AdamW with weight decay 0.01 and betas
(0.9, 0.999), a constant learning rate without warm-up, greedy validation with one completion per
prompt, validation before the first step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.base.errors import UserError
from pipeline.config.algorithms import ALGORITHMS, Algorithm
from pipeline.config.params import TrainedCell
from pipeline.config.reward import own_settings
from pipeline.config.training import Train
from pipeline.model.chat import EMPTY_THOUGHT
from pipeline.ops.verl.attention import attention, packs
from pipeline.ops.verl.budgets import budget_settings
from pipeline.ops.verl.placement import Placement
from pipeline.ops.verl.recipe_overrides import check_recipe, recipe_overrides

Setting = bool | int | float | str | list[str] | None
Overrides = dict[str, Setting]
"""From verl's dotted names to values; a leading ``+`` adds a key that verl's schema lacks."""

_SETTINGS = {
    "normalise_by_std": "algorithm.norm_adv_by_std_in_grpo",
    "discount": "algorithm.gamma",
    "gae_decay": "algorithm.lam",
}
"""verl's names of algorithms' own settings; those of the critic stand in its section."""

# Log-ratios are clamped to 20, so that no ratio reaches this: the loss is then not bounded.
_NO_DUAL_CLIP = 1e9
_BARE = re.compile(r"[A-Za-z/_][\w./-]*")
_LOOPS = "loops.yaml"
_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL = "actor_rollout_ref.model"


@dataclass(frozen=True)
class JobPaths:
    """Where a job's files lie, as the job's processes see them.

    Attributes:
        train: Training parquet.
        validation: Validation parquet.
        model: Folder of the base model, in Hugging Face layout.
        tokenizer: Folder of its tokenizer whose chat template ends in the pre-filled ``<think>``;
            see :func:`pipeline.ops.verl.prompt.write_tokenizer`.
        package: Folder of this package, ``pipeline``.
        checkpoints: Folder for verl's checkpoints.
        state: Folder of the attempt, which keeps some rollouts.
    """

    train: str
    validation: str
    model: str
    tokenizer: str
    package: str
    checkpoints: str
    state: str


def verl_overrides(
    cell: TrainedCell, placement: Placement, paths: JobPaths, rows: int, flash: bool = True
) -> Overrides:
    """The settings with which verl trains a cell.

    Args:
        cell: A trained cell.
        placement: Where it trains.
        paths: Where the job's files lie.
        rows: Training prompts within ``max_prompt_tokens``.
        flash: Whether FlashAttention is installed where it trains.

    Raises:
        UserError: If the cell asks for something that verl cannot do.
    """
    recipe, algorithm = cell.train, cell.algorithm
    check_expressible(recipe, algorithm)
    packed, critic = packs(recipe, flash=flash), algorithm.critic is not None
    validation = {
        "trainer.test_freq": recipe.validate_every,
        "trainer.val_before_train": True,
    }
    return {
        **_algorithm(recipe, algorithm),
        **_data(cell, recipe, paths),
        **_model(paths, packed=packed),
        **_actor(cell, recipe, placement),
        **_rollout(cell, recipe, placement, paths),
        **_critic(cell, recipe, placement, paths, packed=packed),
        **_reward(recipe, paths),
        **trainer_settings(recipe, placement, paths, rows, validation),
        **budget_settings(recipe, placement, critic=critic, packed=packed),
        **hooks(paths.tokenizer, paths.state),
        **recipe_overrides(recipe, algorithm),
        **recipe.cluster.overrides,
    }


def check_expressible(recipe: Train, algorithm: Algorithm) -> None:
    """Check that verl can do what a recipe asks for.

    Raises:
        UserError: If it cannot; says which field to change.
    """
    if algorithm.estimator is None:
        allowed = (name for name, kind in ALGORITHMS.items() if kind.estimator)
        raise UserError(
            f"grid.algorithms: verl has no algorithm {algorithm.name!r}; allowed with "
            f"train.backend verl: {', '.join(allowed)}. Set train.backend: local"
        )
    check_recipe(recipe, algorithm)


def _algorithm(recipe: Train, algorithm: Algorithm) -> Overrides:
    own = {_SETTINGS[name]: value for name, value in algorithm if name in _SETTINGS}
    settings: Overrides = {
        "algorithm.adv_estimator": algorithm.estimator,
        **own,
        "algorithm.use_kl_in_reward": recipe.kl_in_reward,
    }
    if recipe.kl_in_reward:
        settings["algorithm.kl_penalty"] = recipe.kl_kind
        settings["algorithm.kl_ctrl.kl_coef"] = recipe.kl_coefficient
    return settings


def _data(cell: TrainedCell, recipe: Train, paths: JobPaths) -> Overrides:
    return {
        "data.train_files": paths.train,
        "data.val_files": paths.validation,
        "data.train_batch_size": recipe.prompts_per_step,
        "data.max_prompt_length": recipe.max_prompt_tokens,
        "data.max_response_length": recipe.max_new_tokens,
        "data.filter_overlong_prompts": True,
        "data.truncation": "error",
        "data.seed": cell.seed,
    }


def _model(paths: JobPaths, *, packed: bool) -> Overrides:
    return {
        f"{_MODEL}.path": paths.model,
        f"{_MODEL}.tokenizer_path": paths.tokenizer,
        f"{_MODEL}.enable_gradient_checkpointing": True,
        **attention(_MODEL, packed=packed),
    }


def _actor(cell: TrainedCell, recipe: Train, placement: Placement) -> Overrides:
    return {
        f"{_ACTOR}.optim.lr": recipe.learning_rate,
        f"{_ACTOR}.optim.clip_grad": recipe.gradient_clip,
        f"{_ACTOR}.ppo_mini_batch_size": recipe.prompts_per_step // recipe.updates_per_batch,
        f"{_ACTOR}.clip_ratio": recipe.clip_range,
        f"{_ACTOR}.clip_ratio_low": recipe.clip_range,
        f"{_ACTOR}.clip_ratio_high": recipe.clip_high,
        f"{_ACTOR}.clip_ratio_c": recipe.dual_clip or _NO_DUAL_CLIP,
        f"{_ACTOR}.loss_agg_mode": recipe.aggregation,
        f"{_ACTOR}.loss_scale_factor": recipe.max_new_tokens,  # of seq-mean-token-sum-norm
        f"{_ACTOR}.entropy_coeff": recipe.entropy_coefficient,
        # Also with a coefficient of 0: the KL divergence is a metric of every run.
        f"{_ACTOR}.use_kl_loss": not recipe.kl_in_reward,
        f"{_ACTOR}.kl_loss_coef": recipe.kl_coefficient,
        f"{_ACTOR}.kl_loss_type": recipe.kl_kind,
        f"{_ACTOR}.data_loader_seed": cell.seed,
        **optimizer(f"{_ACTOR}.optim"),
        **sharding(f"{_ACTOR}.fsdp_config", cell, recipe, placement),
        **precision(f"{_REF}.fsdp_config", recipe),
    }


def optimizer(section: str) -> Overrides:
    """How AdamW steps: in one kernel, which holds nothing of its own.

    Torch's default on accelerators holds one more shard in float32.
    """
    return {f"+{section}.override_optimizer_config.fused": True}


def sharding(section: str, cell: TrainedCell, recipe: Train, placement: Placement) -> Overrides:
    """How a model that is trained is shared out, and with which seed."""
    return {
        f"{section}.seed": cell.seed,
        **deterministic(section, recipe),
        f"{section}.param_offload": placement.offload,
        f"{section}.optimizer_offload": placement.offload,
        **precision(section, recipe),
    }


def deterministic(section: str, recipe: Train) -> Overrides:
    return {f"{section}.full_determinism": True} if recipe.cluster.deterministic else {}


def precision(section: str, recipe: Train) -> Overrides:
    """Weights stay in float32; verl's own default computes in bfloat16."""
    if recipe.precision == "bfloat16":
        return {}
    return {
        f"{section}.dtype": "float32",
        f"+{section}.mixed_precision.param_dtype": "fp32",
    }


def _rollout(cell: TrainedCell, recipe: Train, placement: Placement, paths: JobPaths) -> Overrides:
    again = deterministic(_ROLLOUT, recipe)
    if again:  # see pipeline.ops.verl.loops
        again[f"{_ROLLOUT}.agent.agent_loop_config_path"] = f"{paths.package}/ops/verl/{_LOOPS}"
        again[f"{_ROLLOUT}.agent.default_agent_loop"] = "seeded"
    return {
        **again,
        f"{_ROLLOUT}.name": "vllm",
        f"{_ROLLOUT}.n": recipe.rollouts,
        f"{_ROLLOUT}.temperature": recipe.temperature,
        f"{_ROLLOUT}.top_p": recipe.top_p,
        f"{_ROLLOUT}.seed": cell.seed,
        f"{_ROLLOUT}.dtype": recipe.precision,
        # Else vLLM reserves cache for the longest sequence the model knows: a million tokens.
        f"{_ROLLOUT}.max_model_len": recipe.max_prompt_tokens + recipe.max_new_tokens,
        f"{_ROLLOUT}.tensor_model_parallel_size": placement.tensor_parallel,
    }


def _critic(
    cell: TrainedCell, recipe: Train, placement: Placement, paths: JobPaths, *, packed: bool
) -> Overrides:
    critic = cell.algorithm.critic
    if critic is None:
        return {}
    return {
        "critic.optim.lr": critic.learning_rate or recipe.learning_rate,
        "critic.optim.clip_grad": recipe.gradient_clip,
        "critic.cliprange_value": critic.value_clip,
        "critic.data_loader_seed": cell.seed,
        "critic.model.path": paths.model,
        "critic.model.tokenizer_path": paths.tokenizer,
        "critic.model.enable_gradient_checkpointing": True,
        **attention("critic.model", packed=packed),
        **optimizer("critic.optim"),
        **sharding("critic.fsdp", cell, recipe, placement),
    }


def _reward(recipe: Train, paths: JobPaths) -> Overrides:
    section, reward = "reward.custom_reward_function", recipe.reward
    settings: Overrides = {
        f"{section}.path": f"{paths.package}/reward/verl_entry.py",
        f"{section}.name": "compute_score",
        f"+{section}.reward_kwargs.preset": reward.preset,
    }
    if not recipe.think:
        settings[f"+{section}.reward_kwargs.begun"] = EMPTY_THOUGHT
    for name, value in own_settings(reward).items():
        settings[f"+{section}.reward_kwargs.settings.{name}"] = value
    return settings


def trainer_settings(
    recipe: Train, placement: Placement, paths: JobPaths, rows: int, own: Mapping[str, Setting]
) -> Overrides:
    """How long a trainer runs and where; ``own`` are settings of this trainer."""
    total, passes = planned(recipe, rows)
    return {
        "trainer.nnodes": placement.nodes,
        "trainer.n_gpus_per_node": placement.gpus,
        "trainer.total_training_steps": total,
        "trainer.total_epochs": passes,
        **own,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": paths.checkpoints,
        "trainer.logger": ["console", "file"],  # MLflow has one writer, the stage
    }


def hooks(tokenizer: str, state: str) -> Overrides:
    """The settings that name what verl calls back, see :mod:`pipeline.ops.verl.hooks`.

    Args:
        tokenizer: Folder of the tokenizer.
        state: Folder for what is kept of rollouts.
    """
    module = "pipeline.ops.verl.hooks"
    return {
        "trainer.checkpoint_callback_class": f"{module}.CheckpointProbe",
        "trainer.v1.sampler.custom_sampler.path": f"pkg://{module}",
        "trainer.v1.sampler.custom_sampler.name": "MeasuredReplayBuffer",
        "+trainer.v1.sampler.sampler_kwargs.tokenizer": tokenizer,
        "+trainer.v1.sampler.sampler_kwargs.state": state,
        "reward.reward_manager.source": "importlib",
        "reward.reward_manager.name": "Verbatim",
        "reward.reward_manager.module.path": f"pkg://{module}",
    }


def planned(recipe: Train, rows: int) -> tuple[int, int]:
    """The number of steps, and of passes over the data that verl needs for them.

    verl leaves out the prompts of a pass that do not fill a batch, so that it starts another pass
    where the local trainer would still have had some; the number of steps is the same.

    Raises:
        UserError: If the data does not fill one batch.
    """
    steps_per_pass = rows // recipe.prompts_per_step
    if not steps_per_pass:
        raise UserError(
            f"train.prompts_per_step: found {recipe.prompts_per_step}; the training set has {rows} "
            "prompts within max_prompt_tokens, and verl takes whole batches only. Lower it"
        )
    total = recipe.total_steps(rows)
    return total, math.ceil(total / steps_per_pass)


def as_arguments(overrides: Overrides) -> list[str]:
    """Overrides as command-line arguments in Hydra's grammar."""
    return [f"{key}={_value(value)}" for key, value in overrides.items()]


def _value(value: Setting) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{','.join(map(_value, value))}]"
        case _:
            return _quoted(str(value))


def _quoted(text: str) -> str:
    """A text as Hydra reads it back: bare where it cannot be taken for something else."""
    if _BARE.fullmatch(text) and text.lower() not in ("null", "true", "false", "nan", "inf"):
        return text
    # Hydra unescapes quotes, and backslashes before them only.
    end = len(text) - len(text.rstrip("\\"))
    return "'" + re.sub(r"(\\*)'", r"\1\1\\'", text) + "\\" * end + "'"
