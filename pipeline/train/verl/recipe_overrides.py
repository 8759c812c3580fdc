"""What a cell's recipe asks of verl beyond its defaults: the algorithm's own loss, LoRA, draws.

They take the place of what the recipe's general fields say. verl 0.9.1.
"""

from __future__ import annotations

from pipeline.config.algorithms import Algorithm, DrGrpo, Sft
from pipeline.config.training import Train
from pipeline.errors import UserError

_ACTOR, _MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.model"
_SAMPLER = "trainer.v1.sampler.sampler_kwargs"

Settings = dict[str, bool | int | float | str]


def recipe_overrides(recipe: Train, algorithm: Algorithm) -> Settings:
    """Return the settings of what is the algorithm's own, of LoRA and of dynamic sampling."""
    return {
        **_objective(recipe, algorithm),
        **_lora(recipe),
        **_dynamic_sampling(recipe),
    }


def check_recipe(recipe: Train, algorithm: Algorithm) -> None:
    """Check that verl can do with an algorithm what a recipe asks for beyond its defaults.

    Raises:
        UserError: If it cannot; says which field to change.
    """
    if recipe.lora and isinstance(algorithm, Sft):
        raise UserError(
            f"train.lora: found rank {recipe.lora.rank} with sft and train.backend verl; allowed "
            "there: none, since imitation through verl trains whole models. Remove it, or set "
            "train.backend: local"
        )
    if recipe.dynamic_sampling and not algorithm.compares:
        raise UserError(
            f"train.dynamic_sampling: found it with {algorithm.name}, which compares no "
            "completions of a prompt. Remove it, or choose an algorithm that does, such as grpo"
        )


def _objective(recipe: Train, algorithm: Algorithm) -> Settings:
    settings: Settings = {}
    if algorithm.surrogate != "vanilla":
        settings[f"{_ACTOR}.policy_loss.loss_mode"] = algorithm.surrogate
    if clip := algorithm.clip:
        settings[f"{_ACTOR}.clip_ratio_low"] = clip.low
        settings[f"{_ACTOR}.clip_ratio_high"] = clip.high
    if algorithm.aggregation:
        settings[f"{_ACTOR}.loss_agg_mode"] = algorithm.aggregation
    if isinstance(algorithm, DrGrpo):
        settings["algorithm.norm_adv_by_std_in_grpo"] = False
    return settings


def _lora(recipe: Train) -> Settings:
    if recipe.lora is None:
        return {}
    return {
        f"{_MODEL}.lora_rank": recipe.lora.rank,
        f"{_MODEL}.lora_alpha": recipe.lora.alpha,
        f"{_MODEL}.target_modules": "all-linear",
        # What samples gets whole weights, as without LoRA: so any of verl's samplers can.
        f"{_MODEL}.lora.merge": True,
    }


def _dynamic_sampling(recipe: Train) -> Settings:
    """verl's own has no bound; :class:`pipeline.train.verl.hooks.Measured` adds it."""
    if recipe.dynamic_sampling is None:
        return {}
    return {
        "algorithm.filter_groups.enable": True,
        "algorithm.filter_groups.metric": "reward",
        f"+{_SAMPLER}.draws": recipe.dynamic_sampling.draws,
        f"+{_SAMPLER}.prompts": recipe.prompts_per_step,
    }
