"""Checks of a run's inputs, for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.base.errors import UserError
from pipeline.config.algorithms import AlgorithmBase
from pipeline.config.training import Train
from pipeline.reward.presets import preset_of
from pipeline.train.data import TokenisedRow

if TYPE_CHECKING:  # it loads for seconds, and most who import this want no model
    from transformers import PretrainedConfig, PreTrainedTokenizerBase


def check_fit(
    model: PretrainedConfig,
    tokenizer: PreTrainedTokenizerBase,
    train: Sequence[TokenisedRow],
    validation: Sequence[TokenisedRow],
    recipe: Train,
) -> None:
    """Check that there is data, and that it fits tokenizer, model and recipe."""
    for name, rows in (("training", train), ("validation", validation)):
        if not rows:
            raise UserError(f"there are no {name} prompts; look at the limits of the combination")
    prompts = [row.prompt for row in (*train, *validation)]
    _check_vocabulary(model.vocab_size, tokenizer, max(map(max, prompts)))
    _check_reward(recipe, train)
    longest = max(len(row.prompt) - row.given for row in (*train, *validation))
    _check_context(model.max_position_embeddings, longest, recipe.max_new_tokens)


def check_answers(answered: int, asked: int, recipe: Train, algorithm: AlgorithmBase) -> None:
    """Check that a model gives some answers before reinforcement learning, unless waived."""
    if answered or not algorithm.samples or recipe.allow_no_answers:
        return
    raise UserError(
        f"the model gives no answer to any of the {asked} validation prompts before training, so "
        f"that {algorithm.name} finds next to nothing to reward. Warm it up first: give the grid "
        "an arm that imitates, such as warm: {algorithm: {name: sft, imitates: traces}}, and have "
        "this one start there with starts_from: warm; or set train.allow_no_answers: true"
    )


def _check_vocabulary(knows: int, tokenizer: PreTrainedTokenizerBase, reach: int) -> None:
    if len(tokenizer) > knows or reach >= knows:
        raise UserError(
            f"the tokenizer has {len(tokenizer)} tokens and the prompts reach token {reach}, but "
            f"the model knows only {knows}; they do not belong together"
        )


def _check_reward(recipe: Train, train: Sequence[TokenisedRow]) -> None:
    preset = preset_of(recipe.reward)
    if not any(preset.applies_to(row.example) for row in train):
        raise UserError(
            f"train.reward is {recipe.reward.preset!r}, which checks the reasoning against the "
            f"story, but the belief engine can read none of the {len(train)} training stories; "
            "choose another reward, or a combination of Hi-ToM, ToMi or ExploreToM in their own "
            "words"
        )


def _check_context(context: int, longest: int, new: int) -> None:
    if longest + new > context:
        raise UserError(
            f"the longest prompt has {longest} tokens and max_new_tokens is {new}, but the model "
            f"reads only {context}; lower train.max_prompt_tokens or train.max_new_tokens"
        )
