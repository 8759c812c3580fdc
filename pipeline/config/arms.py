"""Arms: what the cells of a study that differ in how they are trained differ in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from pipeline.config.algorithms import ALGORITHMS, Algorithm
from pipeline.config.reward import RewardSettings
from pipeline.config.section import Batch, Key, Listed, Positive, Rate, Section, known
from pipeline.config.training import (
    LearningRateSchedule,
    Lora,
    Rollouts,
    Temperature,
    Train,
)

_APART = {"algorithm", "starts_from", "combinations"}
"""What an arm has that is no part of a recipe."""


def _named(content: object) -> object:
    """Give the bare name of an algorithm the form that one with settings has."""
    return {"name": known(content, ALGORITHMS)} if isinstance(content, str) else content


class Start(Section):
    """The cell whose weights another one starts from: that of the same model and seed.

    Attributes:
        arm: How it was trained.
        combination: What on; the data of the cell that starts from it if absent or, where the arm
            does not train on these, the only data that it trains on.
    """

    arm: Key
    combination: str | None = None


def _of_arm(content: object) -> object:
    """Give the bare name of an arm the form that one with its data has."""
    if not isinstance(content, str | dict | Start):
        raise ValueError(
            f"found {content!r}; allowed: the name of an arm, or {{arm: NAME, combination: DATA}}"
        )
    return {"arm": content} if isinstance(content, str) else content


class Arm(Section):
    """One way to train; what it leaves out is as in the study's ``train``.

    Attributes:
        algorithm: Its name, or ``{name: NAME, SETTING: VALUE}``.
        starts_from: The cell whose weights its cells start from: the name of an arm, or
            ``{arm: NAME, combination: DATA}``; the base model if absent.
        combinations: The data that it trains on; all of the grid if absent.
        reward: The reward.
        think: Whether responses may reason before they answer, in training and evaluation.
        prompts_per_step: Prompts in one batch.
        rollouts: Completions per prompt.
        temperature: Sampling temperature of rollouts.
        learning_rate: AdamW's.
        learning_rate_schedule: How it goes.
        steps: Number of steps; this or ``epochs``.
        epochs: Passes over the training data; this or ``steps``.
        validate_every: Steps between validations.
        save_every: Steps between checkpoints.
        checkpoint: Which checkpoint is evaluated, and started from.
        lora: Train few weights.
    """

    algorithm: Annotated[Algorithm, BeforeValidator(_named)]
    starts_from: Annotated[Start, BeforeValidator(_of_arm)] | None = None
    combinations: Annotated[Listed[str], Field(min_length=1)] | None = None
    reward: RewardSettings | None = None
    think: bool | None = None
    prompts_per_step: Batch | None = None
    rollouts: Rollouts | None = None
    temperature: Temperature | None = None
    learning_rate: Rate | None = None
    learning_rate_schedule: LearningRateSchedule | None = None
    steps: Positive | None = None
    epochs: float | None = Field(default=None, gt=0, le=100_000)
    validate_every: Positive | None = None
    save_every: Positive | None = None
    checkpoint: Literal["best", "last"] | None = None
    lora: Lora | None = None

    @model_validator(mode="after")
    def _one_length(self) -> Arm:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("found steps and epochs; give at most one of them")
        return self

    @model_validator(mode="after")
    def _given_responses_are_whole(self) -> Arm:
        if self.think is False and not self.algorithm.samples:
            raise ValueError(
                f"found think: false with {self.algorithm.name}, which imitates whole responses; "
                "its setting imitates says what is in them"
            )
        return self

    def applied_to(self, recipe: Train) -> Train:
        """A study's recipe with what the arm changes."""
        own = {name: getattr(self, name) for name in type(self).model_fields.keys() - _APART}
        if self.steps is not None or self.epochs is not None:
            recipe = recipe.model_copy(update={"steps": None, "epochs": None})
        return recipe.model_copy(update={n: value for n, value in own.items() if value is not None})
