"""What a cell's recipe asks of verl beyond its defaults: imitation of completions, and LoRA.

They take the place of what the recipe's general fields say. verl 0.9.1.
"""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Train
from pipeline.ops.verl.memory import FLOAT, frozen

_ACTOR, _MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.model"
_SAMPLER = "trainer.v1.sampler.sampler_kwargs"

Settings = dict[str, bool | int | float | str]
_IMITATING: Settings = {
    # Only likelihood counts: no entropy, and no reference model.
    f"{_ACTOR}.entropy_coeff": 0.0,
    f"{_ACTOR}.use_kl_loss": False,
    "algorithm.use_kl_in_reward": False,
    f"+{_SAMPLER}.rejects": True,
}
"""The settings of an algorithm that imitates completions, see ``MeasuredReplayBuffer``."""
_FORMS = {"updates_per_batch": 1, "aggregation": "token-mean"}
"""What verl does and cannot do otherwise where it imitates, by the field that asks for it: the mean
over what is imitated of a batch is had by weights of its mean over all.
"""
_FORMS_WITHOUT_SAMPLES = {**_FORMS, "temperature": 1.0, "checkpoint": "last"}
"""The same of its trainer for imitation."""


def recipe_overrides(recipe: Train, algorithm: Algorithm) -> Settings:
    """The settings of LoRA, and of an algorithm that imitates completions."""
    return {
        **lora_settings(recipe, _MODEL, f"{_ACTOR}.fsdp_config"),
        **({} if algorithm.weighs else _IMITATING),
    }


def check_recipe(recipe: Train, algorithm: Algorithm) -> None:
    """Check that verl can do with an algorithm what a recipe asks for beyond its defaults.

    Raises:
        UserError: If it cannot; says which field to change.
    """
    if recipe.learning_rate_schedule != "constant":
        raise UserError(
            f"train.learning_rate_schedule: found {recipe.learning_rate_schedule}, which verl does "
            "not have; allowed with train.backend verl: constant. Leave it out, or set "
            "train.backend: local"
        )
    if algorithm.weighs:
        return
    for field, only in (_FORMS if algorithm.samples else _FORMS_WITHOUT_SAMPLES).items():
        if (found := getattr(recipe, field)) != only:
            raise UserError(
                f"train.{field}: found {found} with {algorithm.name}; allowed with train.backend "
                f"verl: {only}. Change it, or set train.backend: local"
            )


def lora_settings(recipe: Train, model: str, engine: str) -> Settings:
    """The settings of LoRA, under the names that a configuration gives its model and FSDP."""
    if recipe.lora is None:
        return {}
    return {
        **({f"{engine}.model_dtype": "bfloat16"} if frozen(recipe) < FLOAT else {}),
        f"{model}.lora_rank": recipe.lora.rank,
        f"{model}.lora_alpha": recipe.lora.alpha,
        f"{model}.target_modules": "all-linear",
        # What samples, or is measured, gets whole weights, as without LoRA.
        f"{model}.lora.merge": True,
    }
